"""Which fleets have gates: what must be seen on their hosts before a rank starts. Pure."""


def gated(fabric: str, vendor: str) -> bool:
    """Return whether the gates know what joins the machines, and who made their GPUs: NVIDIA so far.

    Args:
        fabric: nvlink, infinity-fabric, rdma or ethernet.
        vendor: nvidia, amd or cpu.
    """
    return fabric in {"nvlink", "rdma"} and vendor == "nvidia"

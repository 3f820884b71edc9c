"""Whether every GPU has joined the fabric, is healthy in it, and lies in one domain with its peers. Pure.

`nvidia-smi -q -x` says the health in words; NCCL logs the mask that those words are decoded from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from components.readiness.gates.refused import Check, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.smi import Fabric, Gpu, Smi
    from components.readiness.gates.wants import Wants

_NVML: Final = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlFabricDefs.html"
_NONE: Final = "N/A"

COMPLETED: Final = Check(
    "fabric-completed",
    "Fabric State Completed and Status Success on every GPU",
    (
        (
            "driver and Fabric Manager are of different releases (HGX): `dpkg -l | grep -e fabricmanager -e "
            "nvidia-driver`, run `up` again"
        ),
        (
            "mlx5_ib or ib_umad is not loaded, so Fabric Manager took the legacy path (HGX B200, B300): "
            "`lsmod`, run `up` again"
        ),
        (
            "Fabric Manager does not run (HGX), or the NVLink switches are not up (NVL72): `journalctl -u "
            "nvidia-fabricmanager`, the rack's switch trays"
        ),
    ),
    f"{_NVML}; https://github.com/NVIDIA/gpu-operator/issues/2781",
)
HEALTHY: Final = Check(
    "fabric-healthy",
    "no fault in any field of the fabric's health",
    (
        (
            "an NVLink or a switch port is down or degraded: `nvidia-smi nvlink -s`, then the switch tray's "
            "own log"
        ),
        "the fabric is still recovering routes: wait a minute and run `up` again",
        "the GPU is in no partition, or its firmware does not fit the switches: ask who manages the rack",
    ),
    f"{_NVML} (NVML_GPU_FABRIC_HEALTH_MASK_*)",
)
ONE_DOMAIN: Final = Check(
    "fabric-one-domain",
    "one cluster UUID and one clique over all GPUs of the fleet",
    (
        (
            "trays of two racks or of two partitions are listed in one fleet: list trays of one clique in "
            "machines.hosts"
        ),
        "the partition of the rack was changed while a tray was up: reboot that tray",
        "a tray came up before the switches: reboot it",
    ),
    (
        "https://docs.nvidia.com/multi-node-nvlink-systems/mnnvl-user-guide; NCCL 2.30.7, src/mnnvl.cc; "
        "https://docs.nvidia.com/networking/display/nmxcv100/gRPC+API (partitions are numbered from 1)"
    ),
)

AS_STATED: Final = Check(
    "fabric-clique-stated",
    "the clique that the stack says",
    (
        "another tray has the address, or the list is out of order: correct address or place there",
        "the rack was partitioned anew: write the clique that is seen",
    ),
    "place of machines.hosts in the stack file",
)

CHECKS: Final = (COMPLETED, HEALTHY, ONE_DOMAIN, AS_STATED)

_WELL: Final[Mapping[str, tuple[str, ...]]] = {
    "summary": ("Healthy", _NONE),
    "bandwidth": ("Full", _NONE),
    "route_recovery_in_progress": ("False", _NONE),
    "route_unhealthy": ("False", _NONE),
    "access_timeout_recovery": ("False", _NONE),
    "incorrect_configuration": ("None", _NONE),
    "partition_assigned": ("True", _NONE),
}
"""Element of the block Health → its words where nothing is wrong; N/A: this GPU does not say it."""

_TRISTATE: Final = {0: "not supported", 1: "true", 2: "false"}
_CONFIGURATION: Final = {
    0: "not supported",
    1: "none",
    2: "wrong system GUID",
    3: "wrong chassis serial number",
    4: "no partition",
    5: "too few NVLinks",
    6: "incompatible GPU firmware",
    7: "invalid location",
    8: "invalid state of the GPU",
}
_PARTITION: Final = {0: "not supported", 1: "yes", 2: "no"}
_FIELDS: Final[tuple[tuple[str, int, int, Mapping[int, str]], ...]] = (
    ("degraded bandwidth", 0, 0x3, _TRISTATE),
    ("route recovery", 2, 0x3, _TRISTATE),
    ("route unhealthy", 4, 0x3, _TRISTATE),
    ("access timeout recovery", 6, 0x3, _TRISTATE),
    ("incorrect configuration", 8, 0xF, _CONFIGURATION),
    ("partition assigned", 12, 0x3, _PARTITION),
)
"""Name, shift, width as a mask, and value → word, of nvml.h 13.3.29 (github.com/NVIDIA/go-nvml, 2f9e261)."""
_KNOWN_BITS: Final = sum(width << shift for _, shift, width, _ in _FIELDS)


def decoded(mask: int) -> dict[str, str]:
    """Return field → word of a `healthMask`; values and bits that nvml.h does not name are `unknown`."""
    fields = {
        name: words.get(mask >> shift & width, f"unknown ({mask >> shift & width})")
        for name, shift, width, words in _FIELDS
    }
    beyond = mask & ~_KNOWN_BITS
    return fields | ({"other bits": f"unknown ({beyond:#x})"} if beyond else {})


def faults(mask: int) -> tuple[str, ...]:
    """Return `field is word` for every field of a `healthMask` that is not known to be well."""
    well = {"false", "none", "yes", "not supported"}
    return tuple(f"{name} is {word}" for name, word in decoded(mask).items() if word not in well)


def refusals(seen: Mapping[str, Smi], wants: Wants) -> Iterator[Refused]:
    """Yield what is wrong with the fabric.

    Args:
        seen: Host name → what `nvidia-smi` says there.
        wants: What the plan wants.
    """
    for host, smi in seen.items():
        for gpu in smi.gpus:
            yield from _of_one(host, gpu)
        yield from _stated(host, smi, wants)
    yield from _one_domain({host: seen[host] for host in wants.domain if host in seen})


def _of_one(host: str, gpu: Gpu) -> Iterator[Refused]:
    fabric = gpu.fabric
    if (fabric.state, fabric.status) != ("Completed", "Success"):
        yield Refused(
            COMPLETED, (host,), f"GPU {gpu.index} says State {fabric.state}, Status {fabric.status}"
        )
    if said := _unwell(fabric):
        yield Refused(HEALTHY, (host,), f"GPU {gpu.index} says {', '.join(said)}")


def _unwell(fabric: Fabric) -> list[str]:
    missing = [f"no {name}" for name in _WELL if name not in fabric.health and name != "partition_assigned"]
    return missing + [
        f"{name} {word}" for name, word in fabric.health.items() if word not in _WELL.get(name, ())
    ]


def _one_domain(seen: Mapping[str, Smi]) -> Iterator[Refused]:
    places = {host: sorted({_place(gpu.fabric) for gpu in smi.gpus}) for host, smi in seen.items()}
    nowhere = {
        host: found
        for host, smi in seen.items()
        if (found := sorted({_place(gpu.fabric) for gpu in smi.gpus if not gpu.fabric.placed}))
    }
    for host, found in nowhere.items():
        yield Refused(
            ONE_DOMAIN, (host,), f"its GPUs say {' and '.join(found)}, which is no place in a domain"
        )
    if len({place for found in places.values() for place in found}) > 1 and not nowhere:
        told = "; ".join(f"{host} is in {' and '.join(found)}" for host, found in places.items())
        yield Refused(ONE_DOMAIN, tuple(places), told)


def _stated(host: str, smi: Smi, wants: Wants) -> Iterator[Refused]:
    stated = wants.cliques.get(host)
    found = sorted({gpu.fabric.clique for gpu in smi.gpus})
    if stated is not None and found != [str(stated)]:
        yield Refused(AS_STATED, (host,), f"its GPUs are in clique {' and '.join(found)}", f"clique {stated}")


def _place(fabric: Fabric) -> str:
    return f"clique {fabric.clique or 'nothing'} of cluster {fabric.cluster or 'nothing'}"

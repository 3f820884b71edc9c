"""What lies on an emulated machine for its tools to say, in the forms of `tests.factories.sights`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.factories import sights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DRIVER: Final = "@DRIVER@"
"""Stands for the release of the tool that speaks."""
DMESG: Final = "[    0.000000] localhost kernel: Linux version 6.8.0-nvidia-64k\n"
"""The kernel's log of a machine that is well, as `journalctl --output=short-monotonic` has it."""
FABRICS: Final = {"gb300": "nvlink", "b200": "rdma", "b300": "rdma"}
"""Accelerator → what joins machines that have it."""
_MEMORY: Final[Mapping[str, Mapping[str, str]]] = {
    # Total: what nvidia-smi reports, says NVIDIA's aiconfigurator (github.com/redhat-performance/
    # aiconfigurator at f5767342, aic-core/src/aiconfigurator_core/systems/b300_sxm.yaml). What is free of it
    # on an idle GPU is documented nowhere: here as much less as on B200, whose capture has both.
    "b300": {"fb_memory_usage/total": "275040 MiB", "fb_memory_usage/free": "274313 MiB"},
}
"""Accelerator → what its memory reads where that is not the one of `tests.factories.sights`."""


def machine(gpus: int, accelerator: str) -> dict[str, str]:
    """Return path below /etc/emulated → content, of a machine that is well."""
    return {
        **says(gpus, accelerator),
        "dmesg": DMESG,
        **{f"bus/{path}": content for path, content in _bus(gpus)},
        **{f"infiniband/{path}": content for path, content in _nics(gpus, FABRICS[accelerator])},
    }


def says(gpus: int, accelerator: str, **changes: Mapping[Any, Any]) -> dict[str, str]:
    """Return name of an answer → its text.

    Args:
        gpus: How many there are.
        accelerator: Which.
        changes: Answer (smi, nvlink, topo, diag) → what differs, as `tests.factories.sights` takes it.
    """
    wanted = sights.wants(FABRICS[accelerator], gpus=gpus)
    smi: dict[Any, Any] = {"driver": DRIVER, **changes.get("smi", {})}
    for gpu in range(gpus):
        usual = {"product_name": f"NVIDIA {accelerator.upper()}", **_MEMORY.get(accelerator, {})}
        smi[gpu] = usual | smi.get(gpu, {})
    builders = (sights.smi, sights.nvlink, sights.topo, sights.diag)
    differs = {**changes, "smi": smi}
    return {build.__name__: build(wanted, "", differs.get(build.__name__, {})) for build in builders}


def _bus(gpus: int) -> Iterator[tuple[str, str]]:
    """Yield the files of 3D controllers of NVIDIA."""
    for gpu in range(gpus):
        yield f"000{gpu}:06:00.0/vendor", "0x10de\n"
        yield f"000{gpu}:06:00.0/class", "0x030200\n"


def _nics(gpus: int, fabric: str) -> Iterator[tuple[str, str]]:
    for name, device in sights.nics(sights.wants(fabric, gpus=gpus), {}).items():
        yield f"{name}/device/current_link_width", device["width"]
        yield f"{name}/device/max_link_width", device["most"]
        for port, facts in device["ports"].items():
            yield from ((f"{name}/ports/{port}/{fact}", value) for fact, value in facts.items())

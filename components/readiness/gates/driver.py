"""Whether one driver is loaded everywhere, new enough, and sees every GPU. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from components.readiness.gates.refused import Check, Refused
from stacks.planning.versions import key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.smi import Smi
    from components.readiness.gates.wants import Wants

_MANUAL: Final = "manual page nvidia-smi(1), RETURN VALUE"

UNREAD: Final = Check(
    "driver-answers",
    "an answer of `nvidia-smi -q -x` in the form of nvsmi_device_v13.dtd",
    (
        "packages were upgraded below a loaded module (`Driver/library version mismatch`): reboot the host",
        (
            "a GPU has fallen off the bus (exit status 15): look for Xid 79 in `journalctl -k`, power-cycle "
            "the host"
        ),
        "the driver is not loaded: run `up` again, the role nvidia_driver installs and loads it",
        "a driver of a later form: file it with the output, nothing is taken for right that is not known",
    ),
    _MANUAL,
)
ONE: Final = Check(
    "driver-one",
    "one driver on all hosts",
    (
        (
            "unattended-upgrades moved one host: hold the packages, run `up` again, the role nvidia_driver "
            "puts the pinned release back"
        ),
        "a host was installed anew from another image: run `up` again",
    ),
    (
        "https://docs.nvidia.com/multi-node-nvlink-systems/mnnvl-user-guide; "
        "https://github.com/aws/aws-parallelcluster/issues/3034"
    ),
)
PINNED: Final = Check(
    "driver-pinned",
    "the exact driver of machines.driver on every host",
    (
        "another module is still loaded than is installed: reboot the host, run `up` again",
        "unattended-upgrades moved it: run `up` again, the role nvidia_driver puts the pinned release back",
    ),
    "machines.driver of the stack file; docs/roles/nvidia_driver.md",
)
FLOOR: Final = Check(
    "driver-floor",
    "a driver that engine and GPUs run with",
    (
        "the pinned driver was not installed, or the host has not been rebooted since: run `up` again",
        "machines.driver of the stack names an older branch: write one at or above the floor",
    ),
    "driver_floor of stacks/catalog/engines and stacks/catalog/accelerators",
)
COUNT: Final = Check(
    "driver-sees-gpus",
    "every GPU of the machine type",
    (
        "a GPU has fallen off the bus: look for Xid 79 in `journalctl -k`, power-cycle the host",
        "it did not come up at boot (power, seating): look at `lspci -d 10de:` and the machine's own log",
        "another machine type than the stack says: correct machines.type",
    ),
    (
        "gpus of stacks/catalog/machines; "
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html (79)"
    ),
)

CHECKS: Final = (UNREAD, ONE, PINNED, FLOOR, COUNT)


def refusals(seen: Mapping[str, Smi], wants: Wants) -> Iterator[Refused]:
    """Yield what is wrong with the drivers.

    Args:
        seen: Host name → what `nvidia-smi` says there.
        wants: What the plan wants.
    """
    yield from _pinned(seen, wants.driver) if wants.driver else _one(seen)
    for host, smi in seen.items():
        if wants.driver_floor and key(smi.driver) < key(wants.driver_floor):
            yield Refused(FLOOR, (host,), f"the driver is {smi.driver}", f"{wants.driver_floor} or newer")
        if smi.lost or len(smi.gpus) != wants.gpus:
            yield Refused(COUNT, (host,), _counted(smi), f"{wants.gpus}")


def _pinned(seen: Mapping[str, Smi], release: str) -> Iterator[Refused]:
    """Yield the hosts with another release: as text, for 580.95 and 580.95.05 are two."""
    for host, smi in seen.items():
        if smi.driver != release:
            yield Refused(PINNED, (host,), f"the driver is {smi.driver}", release)


def _one(seen: Mapping[str, Smi]) -> Iterator[Refused]:
    """Yield the hosts that differ from most; of two equal halves from the half with the newer driver."""
    counts = Counter(smi.driver for smi in seen.values())
    if len(counts) < 2:  # noqa: PLR2004 -- one driver is what is wanted
        return
    most = max(counts, key=lambda driver: (counts[driver], key(driver)))
    having = ", ".join(host for host, smi in seen.items() if smi.driver == most)
    for host, smi in seen.items():
        if smi.driver != most:
            yield Refused(ONE, (host,), f"the driver is {smi.driver}", f"{most} as on {having}")


def _counted(smi: Smi) -> str:
    lost = f", and has lost {', '.join(smi.lost)}" if smi.lost else ""
    return f"the driver sees {len(smi.gpus)} GPUs{lost}"

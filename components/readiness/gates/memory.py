"""Whether the memory that the engine will take is free on every GPU, and who holds it where not. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from components.hosts.markers import UNIT
from components.readiness.gates.refused import Check, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.sight import Process
    from components.readiness.gates.smi import Gpu, Smi
    from components.readiness.gates.wants import Wants

FREE: Final = Check(
    "memory-free",
    "as much free memory as the engine takes, and no process that is not this fleet's",
    (
        (
            "ranks of a run that was killed are left: end the process named here, or `systemctl stop "
            "rackstack-rank`"
        ),
        "somebody else computes here: ask whose process it is, one machine serves one fleet",
        (
            "no process is named and memory is held: it belongs to a container or to a process that has hung "
            "in the driver, reboot"
        ),
    ),
    (
        "the engine's own refusal at its start (Free memory on device … is less than desired GPU memory "
        "utilization)"
    ),
)

CHECKS: Final = (FREE,)


def refusals(
    seen: Mapping[str, Smi], held: Mapping[str, Mapping[str, Process]], wants: Wants
) -> Iterator[Refused]:
    """Yield every GPU with too little free memory, and every stranger on one.

    Args:
        seen: Host name → what `nvidia-smi` says there.
        held: Host name → process number → what it is.
        wants: What the plan wants.
    """
    for host, smi in seen.items():
        for gpu in smi.gpus:
            known = held.get(host, {})
            strangers = [_told(pid, used, known) for pid, used in gpu.pids.items() if not _ours(pid, known)]
            needed = int(gpu.total * wants.share)
            served = any(_ours(pid, known) for pid in gpu.pids)
            if strangers or (gpu.free < needed and not served):
                yield Refused(FREE, (host,), _seen(gpu, strangers), f"{needed} MiB free and no such process")


def _ours(pid: str, known: Mapping[str, Process]) -> bool:
    return pid in known and known[pid].unit == UNIT


def _told(pid: str, used: str, known: Mapping[str, Process]) -> str:
    process = known.get(pid)
    if process is None:
        return f"process {pid} with {used}"
    unit = f" of {process.unit}" if process.unit else ""
    return f"process {pid}{unit} ({process.command[:80]}) with {used}"


def _seen(gpu: Gpu, strangers: list[str]) -> str:
    holders = ", ".join(strangers) or "nobody whom the driver names"
    return f"GPU {gpu.index} has {gpu.free} of {gpu.total} MiB free, held by {holders}"

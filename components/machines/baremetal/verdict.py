"""What a machine lacks to be what the plan takes it for. Pure."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

CLOCK_SECONDS: Final = 60
"""Most seconds between a machine's clock and the operator's, as the role `prepare` has it."""
VENDORS: Final = {"nvidia": "10de", "amd": "1002"}
"""Vendor → its id on the PCI bus (https://pci-ids.ucw.cz)."""

_ANOTHER: Final = "list another machine, or change machines.type"


class Facts(BaseModel):
    """What `survey.py` prints.

    Attributes:
        arch: As `uname -m` says it.
        cpus: Processors.
        memory_mib: Memory in MiB, within a limit of the machine's own.
        clock: Its clock in seconds.
        machine: What tells it from every other machine.
        on_bus: Vendor id → display controllers and accelerators on the PCI bus.
        gpus: Product names that NVIDIA's driver lists; None where there is no driver, or no answer.
        gpus_complaint: What the driver's tool said instead; empty where nothing.
        interface: Network interface that holds the listed address; empty where none does.
        lease: The lease on it as it is written; empty where there is none.
        fleets: Fleets that left something below /var/lib/rackstack.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    arch: str
    cpus: int
    memory_mib: int
    clock: int
    machine: str
    on_bus: Mapping[str, int]
    gpus: list[str] | None
    gpus_complaint: str
    interface: str
    lease: str
    fleets: list[str]


class Wanted(BaseModel):
    """What the plan takes a machine for.

    Attributes:
        address: Under which it is listed.
        type: Machine type in the catalog.
        arch: Architecture of its host.
        vendor: Whose accelerators; cpu where there are none.
        accelerator: Name of its accelerators.
        gpus: How many of them.
        memory_mib: Least memory in MiB; 0 where nobody says.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    address: str
    type: str
    arch: str
    vendor: str
    accelerator: str
    gpus: int
    memory_mib: int


def read(text: str) -> Facts | None:
    """Return the facts in what a machine printed; None where it printed something else."""
    try:
        return Facts.model_validate_json(text)
    except ValidationError:
        return None


def lacks(facts: Facts, wanted: Wanted, now: float) -> dict[str, str]:
    """Return aspect → one clause for all that a machine lacks.

    Args:
        facts: What it says.
        wanted: What the plan takes it for.
        now: The operator's clock, in seconds.
    """
    return dict(_lacks(facts, wanted, now))


def called(facts: Facts) -> str:
    """Return what a machine is, in a line."""
    driven = f"{len(facts.gpus)} x {facts.gpus[0]}" if facts.gpus else ""
    bus = ", ".join(f"{count} of vendor {vendor}" for vendor, count in sorted(facts.on_bus.items()))
    shown = driven or (f"on its PCI bus {bus}" if bus else "no accelerator")
    return f"{facts.arch}, {facts.cpus} processors, {facts.memory_mib} MiB of memory, {shown}"


def _lacks(facts: Facts, wanted: Wanted, now: float) -> Iterator[tuple[str, str]]:
    judged = {
        "arch": _arch(facts, wanted),
        "accelerators": _accelerators(facts, wanted) if wanted.vendor in VENDORS else "",
        "memory": _memory(facts, wanted),
        "clock": _clock(facts.clock, int(now)),
        "address": _address(facts, wanted),
    }
    yield from ((aspect, said) for aspect, said in judged.items() if said)


def _arch(facts: Facts, wanted: Wanted) -> str:
    if facts.arch == wanted.arch:
        return ""
    return f"it is {facts.arch}, and {wanted.type} is {wanted.arch}: {_ANOTHER}"


def _accelerators(facts: Facts, wanted: Wanted) -> str:
    """Return how its accelerators differ; the driver's word counts, where there is one, and else the bus."""
    on_bus = facts.on_bus.get(VENDORS[wanted.vendor], 0)
    if wanted.vendor != "nvidia":
        return _count(on_bus, "on its PCI bus", wanted)
    if facts.gpus_complaint:
        return f"nvidia-smi lists no GPUs there ({facts.gpus_complaint}): see `dmesg` there, and run again"
    if facts.gpus is None:
        return _count(on_bus, "on its PCI bus", wanted)
    others = sorted({name for name in facts.gpus if not _is_a(name, wanted.accelerator)})
    if others:
        return (
            f"its GPUs are {', '.join(others)}, and {wanted.type} has {wanted.gpus} x {wanted.accelerator}: "
            f"{_ANOTHER}"
        )
    return _count(len(facts.gpus), f"that its driver lists, {on_bus} on its PCI bus", wanted)


def _count(count: int, where: str, wanted: Wanted) -> str:
    if count == wanted.gpus:
        return ""
    find = "find the missing ones (`dmesg`, `lspci`), " if count < wanted.gpus else ""
    return (
        f"it has {count} GPUs {where}, and {wanted.type} has {wanted.gpus} x {wanted.accelerator}: "
        f"{find}{_ANOTHER}"
    )


def _memory(facts: Facts, wanted: Wanted) -> str:
    if facts.memory_mib >= wanted.memory_mib:
        return ""
    return (
        f"its memory is {facts.memory_mib} MiB, the plan needs {wanted.memory_mib} MiB: give the machine "
        "more or plan for less"
    )


def _address(facts: Facts, wanted: Wanted) -> str:
    if facts.interface:
        return ""
    return (
        f"no interface there holds {wanted.address}, by which the other machines must reach it: list the "
        "address that it has itself"
    )


def _is_a(product: str, accelerator: str) -> bool:
    """Return whether a product, such as `NVIDIA H100 80GB HBM3`, is one: the name is one of its words."""
    return accelerator.lower() in re.split(r"[^a-z0-9]+", product.lower())


def _clock(own: int, operator: int) -> str:
    if abs(own - operator) <= CLOCK_SECONDS:
        return ""
    way = "ahead of" if own > operator else "behind"
    return (
        f"its clock says {_utc(own)} and the operator's {_utc(operator)}, {abs(own - operator)} s {way} it, "
        f"and at most {CLOCK_SECONDS} s may lie between them: set it right with `timedatectl set-ntp true`, "
        "or the operator's if that is the wrong one"
    )


def _utc(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))

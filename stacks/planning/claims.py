"""What is known of the machines that a person lists, and what is still to be listed."""

from collections.abc import Iterator, Sequence

from stacks.config import BareMetalMachines, FleetConfig
from stacks.planning import placement
from stacks.planning.design import Design
from stacks.planning.hosts import Claims
from stacks.planning.naming import many

_FEW = 4
"""Machines that a sentence lists one by one."""


def claims(config: FleetConfig) -> Claims | None:
    """Return what machines of a person's own have in common; None in the lab."""
    machines = config.machines
    if not isinstance(machines, BareMetalMachines):
        return None
    return Claims(identity=machines.identity, jump=machines.jump, mirror=machines.mirror, keep=machines.keep)


def not_listed(design: Design) -> Iterator[str]:
    """Yield a clause for everything that `up` has to know of a person's machines and is not told."""
    machines = design.config.machines
    if not isinstance(machines, BareMetalMachines):
        return
    yield from _too_few_or_many(design)
    if machines.identity is None:
        yield "machines.identity is not given; write the path of the private key that opens the machines"
    if machines.mirror is None:
        yield (
            "machines.mirror is not given; write the base URL that serves wheels/ and checkpoints/ to the "
            "machines (`make mirror` fills the first)"
        )


def _too_few_or_many(design: Design) -> Iterator[str]:
    listed, taken = len(design.listed), design.count
    names = [placement.name(design, index) for index in range(max(listed, taken))]
    if listed < taken:
        each = "each " if taken - listed > 1 else ""
        yield (
            f"machines.hosts lists {listed or 'none'} of {many(taken, 'machine')}; add "
            f"{_each(names[listed:])}, {each}with address and host_key"
        )
    if listed > taken:
        yield (
            f"machines.hosts lists {many(listed, 'machine')}, and the plan takes {taken}; drop "
            f"{_each(names[taken:])}"
        )


def _each(names: Sequence[str]) -> str:
    *most, last = names if len(names) <= _FEW else [f"{names[0]} to {names[-1]}"]
    return f"{', '.join(most)} and {last}" if most else last

"""What the engine takes beside weights and cache."""

from stacks.catalog.figures import address
from stacks.planning.design import Design
from stacks.planning.sized import Part, Range

MIB = 2**20
_GRAPHS = ("CUDA graphs", "HIP graphs")
"""What `--enforce-eager` does without."""


def mib(size: int) -> int:
    """Return bytes as MiB, rounded up."""
    return -(-size // MIB)


def reserves(design: Design) -> tuple[Part, ...]:
    """Return the memory that the engine takes beside weights and cache."""
    facts = design.engine.facts
    return tuple(
        Part(
            name=name,
            size=Range(low=each.low * MIB, high=each.high * MIB),
            why=each.why,
            source=address(facts.sources, each.source),
        )
        for name, each in facts.reserves.items()
        if name not in _GRAPHS or design.config.flags.get("enforce-eager") is not True
    )

"""Which GPU drivers serve."""

from stacks.planning.design import Design
from stacks.planning.versions import key


def driver_floor(design: Design) -> str | None:
    """Return the oldest driver that engine and accelerators both run with; None where unknown."""
    floors = (design.engine.facts.driver_floor, design.accelerator.driver_floor)
    known = [floor for floor in floors if floor and floor != "unknown"]
    return max(known, key=key, default=None)

"""What is drawn in which colour."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stacks.planning.plan import EngineGroup

GROUPS: Final = {
    "serve": ("#1d4ed8", "#eff6ff"),
    "prefill": ("#c2410c", "#fff7ed"),
    "decode": ("#0f766e", "#f0fdfa"),
}
"""Engine → colour of its name, and of its machines' ground."""

STAGES: Final = ("#38bdf8", "#f472b6", "#facc15", "#a3e635", "#c084fc", "#fb923c")
LINKS: Final = {
    "nvlink": ("#15803d", 4, "none"),
    "infinity-fabric": ("#15803d", 4, "none"),
    "rdma": ("#b45309", 3, "8 5"),
    "ethernet": ("#64748b", 2, "3 5"),
}
"""Fabric → colour, width and dashes of its lines."""

CACHE: Final = "#10b981"
SPARE: Final = "#e2e8f0"
_WEIGHTS: Final = "#4f46e5"
_DRAFT: Final = "#c026d3"
_RESERVES: Final = ("#64748b", "#94a3b8", "#78716c", "#a8a29e", "#475569")


@dataclass(frozen=True)
class Segment:
    """A share of a GPU's memory: what it is, bytes, colour."""

    name: str
    size: int
    fill: str


def segments(group: EngineGroup) -> list[Segment]:
    """Return what a GPU holds, from the bottom up: parts at their largest, the cache at its smallest."""
    held = group.memory
    parts = list(_parts(group))
    taken = sum(part.size for part in parts)
    cache = max(held.usable - taken if held.pool.low is None else held.pool.low, 0)
    spare = max(held.capacity - taken - cache, 0)
    return [
        each
        for each in (*parts, Segment("cache", cache, CACHE), Segment("not used", spare, SPARE))
        if each.size
    ]


def _parts(group: EngineGroup) -> Iterator[Segment]:
    reserves = 0
    for part in group.memory.parts:
        if part.name.startswith("weights"):
            fill = _WEIGHTS
        elif part.name.startswith("draft"):
            fill = _DRAFT
        else:
            fill = _RESERVES[reserves % len(_RESERVES)]
            reserves += 1
        yield Segment(part.name, part.size.high, fill)

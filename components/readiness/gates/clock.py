"""Whether the members' clocks agree: journals are ordered by them, and certificates end by them. Pure."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from components.readiness.gates.refused import Check, Refused
from components.readiness.verdict import CLOCKS_APART

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.sight import Sight

TOGETHER: Final = Check(
    "clock-together",
    f"clocks at most {CLOCKS_APART:g} s apart",
    (
        "no time service runs on the one that is off: `timedatectl set-ntp true`",
        "it cannot reach its time source: `chronyc sources` or `timedatectl timesync-status`",
    ),
    "components/readiness/verdict.py (which rank failed first is read from journals of several hosts)",
)

CHECKS: Final = (TOGETHER,)


def refusals(seen: Mapping[str, Sight]) -> Iterator[Refused]:
    """Yield every pair of hosts whose clocks are surely too far apart, however long their answers took.

    Args:
        seen: Host name → its clock, and the operator's before and after it was asked for it.
    """
    for (one, first), (other, second) in combinations(seen.items(), 2):
        ahead = max(_surely(first, second), _surely(second, first))
        if ahead > CLOCKS_APART:
            yield Refused(TOGETHER, (one, other), f"their clocks are {ahead:.1f} s apart at least")


def _surely(late: Sight, early: Sight) -> float:
    """Return by how many seconds the first clock is ahead of the second at least."""
    return (late.clock - late.answered) - (early.clock - early.asked)

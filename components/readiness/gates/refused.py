"""What a gate asks, and the sentence where it is not so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Check(NamedTuple):
    """One thing that must be seen.

    Attributes:
        id: Its name in a refusal.
        wanted: What must be seen, a clause.
        causes: What it is likely to come from and the way out of each, most likely first.
        source: Where it is written.
    """

    id: str
    wanted: str
    causes: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Refused:
    """What was seen instead.

    Attributes:
        check: What was asked.
        hosts: Where.
        seen: What was seen there, a clause.
        wanted: What must be seen, with this fleet's own values; the check's words where empty.
    """

    check: Check
    hosts: tuple[str, ...]
    seen: str
    wanted: str = ""

    @property
    def sentence(self) -> str:
        """Return hosts, value, rule, likely causes in order, id and source."""
        causes = "; ".join(f"({number}) {cause}" for number, cause in enumerate(self.check.causes, 1))
        return (
            f"{', '.join(self.hosts)}: {self.seen}, wanted is {self.wanted or self.check.wanted}; "
            f"likely, in this order: {causes} [{self.check.id}; {self.check.source}]"
        )


def merged(refused: Iterable[Refused]) -> tuple[Refused, ...]:
    """Return one refusal for all hosts that show the same, in the order of the first."""
    found: dict[tuple[Check, str, str], tuple[str, ...]] = {}
    for each in refused:
        key = (each.check, each.seen, each.wanted)
        found[key] = tuple(dict.fromkeys((*found.get(key, ()), *each.hosts)))
    return tuple(Refused(check, hosts, seen, wanted) for (check, seen, wanted), hosts in found.items())

"""Sources by number, so that a reason stays one line."""

from collections.abc import Iterator

from stacks.report.words import lines

_PLAIN = 24
"""Letters of a source that is shorter said than numbered, if it is one word or two."""


class Cited:
    """The sources of a report, numbered as they come up."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, source: str) -> str:
        """Return the mark of a source: its number, or itself where it is short (`assumption`)."""
        if len(source) <= _PLAIN and source.count(" ") < 3:  # noqa: PLR2004 - the stack file
            return f"[{source}]"
        return f"[{self._numbers.setdefault(source, len(self._numbers) + 1)}]"

    def listed(self) -> Iterator[str]:
        """Yield the sources that were marked so far."""
        yield "## Sources"
        for source, number in self._numbers.items():
            yield from lines(source, first=f"{number}. ", rest="   ")

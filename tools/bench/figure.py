"""One measured figure beside its limit."""

import sys
from collections.abc import Iterable
from typing import NamedTuple

from stacks.errors import RackstackError


class Figure(NamedTuple):
    """A row of the table.

    Attributes:
        what: What was measured.
        figure: The figure, as it is shown.
        parts: What it was made from.
        limit: Its limit, as it is shown.
        kept: Whether the figure keeps within the limit.
    """

    what: str
    figure: str
    parts: str
    limit: str
    kept: bool

    @property
    def row(self) -> str:
        """Return the row in Markdown."""
        return f"| {self.what} | {self.figure} | {self.parts} | {self.limit} |"


def ratio(what: str, ours: float, least: float, most: float) -> Figure:
    """Return how many times `least` seconds ours are; what is shown, two decimals, is what is judged."""
    shown = f"{ours / least:.2f}"
    return Figure(what, shown, f"{ours:.1f} s ÷ {least:.1f} s", f"≤ {most}", float(shown) <= most)


def surplus(what: str, ours: float, least: float, most: float) -> Figure:
    """Return how many seconds ours are more; what is shown, one decimal, is what is judged."""
    shown = f"{ours - least:+.1f}"
    parts = f"{ours:.1f} s against {least:.1f} s"
    return Figure(what, f"{shown} s", parts, f"≤ +{most} s", float(shown) <= most)


def quotient(what: str, ours: float, least: float, most: float) -> Figure:
    """Return how many times `least` seconds ours are, where both are far below a second."""
    shown = f"{ours / least:.3f}"
    return Figure(
        what, shown, f"{_milliseconds(ours)} ÷ {_milliseconds(least)}", f"≤ {most}", float(shown) <= most
    )


def added(what: str, ours: float, least: float) -> Figure:
    """Return how much more than `least` seconds ours are; this has no limit of its own."""
    parts = f"{_milliseconds(ours)} against {_milliseconds(least)}"
    return Figure(what, f"{(ours - least) * 1000:+.1f} ms", parts, "–", kept=True)  # noqa: RUF001 - a dash of the table


def within(what: str, seconds: float, most: float, parts: str = "") -> Figure:
    """Return how long something took, in seconds; what is shown, one decimal, is what is judged."""
    shown = f"{seconds:.1f}"
    return Figure(what, f"{shown} s", parts, f"≤ {most} s", float(shown) <= most)


def at_most(what: str, seconds: float, most: float) -> Figure:
    """Return how long something took; what is shown, whole milliseconds, is what is judged."""
    shown = round(seconds * 1000)
    limit = round(most * 1000)
    return Figure(what, f"{shown} ms", "", f"≤ {limit} ms", shown <= limit)


def stated(what: str, seconds: float) -> Figure:
    """Return how long something took that has no limit of its own."""
    return Figure(what, f"{seconds * 1000:.0f} ms", "", "–", kept=True)  # noqa: RUF001 - a dash of the table


def none_of(what: str, seen: int) -> Figure:
    """Return a count that must be none."""
    return Figure(what, str(seen), "", "0", seen == 0)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def printed(figures: Iterable[Figure]) -> int:
    """Print rows as they are had; return 1 where a figure is above its limit or one could not be had."""
    above = []
    try:
        for figure in figures:
            print(figure.row, flush=True)
            above += [] if figure.kept else [f"{figure.what}: {figure.figure}, and must be {figure.limit}"]
    except RackstackError as error:
        print(error, file=sys.stderr)
        return 1
    if above:
        print(f"bench: above its limit: {'; '.join(above)}", file=sys.stderr)
    return 1 if above else 0

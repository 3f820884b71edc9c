"""Writes docs/rules.md from the table of rules: `python -m tools.rules`."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from stacks.planning.rules import SECTIONS
from stacks.planning.warnings import REPORTS

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"


def page() -> str:
    """Return the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "Written by `python -m tools.rules` from `stacks/planning/rules`; do not edit it by hand."
    yield ""
    yield "A stack that breaks one of these is refused before anything is made. Each refusal names the value,"
    yield "the rule and the way out, with the rule's id and source in brackets, and all are told at once."
    yield "`tests/cases/stacks/planning/rules` has stacks that break each rule and stacks that just pass it."
    yield "Names that the catalog does not have and values of a wrong type or size are refused before these."
    for title, rules in SECTIONS.items():
        yield from ("", f"## {title}", "")
        yield from _table(
            ("id", "rule", "source"), ((f"`{each.id}`", each.text, each.source) for each in rules)
        )
    yield from ("", "## Not refused, but told", "")
    yield "What others reported of layouts like the one at hand: warnings in the preview and in the report."
    yield ""
    yield from _table(("report", "source"), ((each.says, each.source) for each in REPORTS))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    columns = list(head)
    yield _row(columns)
    yield _row("---" for _ in columns)
    yield from (_row(_linked(cell) for cell in row) for row in rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _linked(cell: str) -> str:
    """Return a cell whose addresses are links, with a short text."""
    return re.sub(r"https://([^\s;]+)", r"[\1](https://\1)", cell.replace("|", "\\|"))


if __name__ == "__main__":
    PAGE.write_text(page())

"""The fault matrix as tests use it: each row names what a person must be told, each test holds one row.

A row of `tests/cases/faults/<area>.yaml`:

    area: Title of the group, as the page shows it
    rows:
      - id: checkpoint-origin-503
        title: what happens, as a person would say it
        says: ["texts that the sentence must hold, {placeholders} filled by the test"]
        example: the whole sentence as a run really printed it
        todo: what the person does
        held_by: tests/unit/…/test_….py::test_…     # instead of a test here that calls row("…")
        long: true                                  # its test is marked so: only `make faults` runs it

`says` of a row with `held_by` is what its example has in common with that test or with its case file.

With RACKSTACK_FAULT_EXAMPLES=FOLDER each test writes what it really saw to FOLDER/<id>.txt.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).parents[2] / "cases/faults"
EXAMPLES = "RACKSTACK_FAULT_EXAMPLES"


@dataclass(frozen=True)
class Row:
    """One fault, and what must be said about it.

    Attributes:
        id: Its name, unique in the table.
        says: Texts that the sentence holds, with placeholders.
    """

    id: str
    says: tuple[str, ...]

    def holds(self, text: str, **values: object) -> None:
        """Assert that a person who reads the text is told all that the row promises.

        Args:
            text: All that was printed, or the error's own text.
            values: What the placeholders of `says` stand for.
        """
        assert "Traceback" not in text, text
        missing = [each for each in (said.format(**values) for said in self.says) if each not in text]
        assert not missing, f"row {self.id}: {missing} not in: {text}"
        _keep(self.id, text)


def row(name: str) -> Row:
    """Return the row with that id; a test that holds a row calls this once, with the literal id."""
    raw = _rows()[name]
    return Row(name, tuple(raw["says"]))


@cache
def _rows() -> dict[str, Any]:
    tables = [yaml.safe_load(path.read_text()) for path in sorted(TABLE.glob("*.yaml"))]
    return {each["id"]: each for table in tables for each in table["rows"]}


def _keep(name: str, text: str) -> None:
    if folder := os.environ.get(EXAMPLES):
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, f"{name}.txt").write_text(text)

"""Every fault of the table has exactly one test, every such test has its fault, and the page shows all."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import faults

ROOT = Path(__file__).parents[2]
CALL = re.compile(r"""\brow\(\s*["']([^"']+)["']""")
# Of one test, or of all that are told as one story.
LONG = re.compile(r"@pytest\.mark\.long\n|.*^pytestmark = \[.*pytest\.mark\.long", re.DOTALL | re.MULTILINE)
KEYS = {"id", "title", "says", "example", "todo"}
ROWS: list[dict[str, Any]] = [
    row for path in sorted(faults.TABLE.glob("*.yaml")) for row in yaml.safe_load(path.read_text())["rows"]
]


def _told(text: str) -> list[str]:
    """Return the tests of a file, each with its marks; a file that is long as a whole stays whole."""
    return [text] if "pytestmark = [" in text else text.split("\n\n\n")


TESTS = [
    text for path in sorted((ROOT / "tests/lab/faults").glob("test_*.py")) for text in _told(path.read_text())
]
CALLS = [name for text in TESTS for name in CALL.findall(text)]
CASES = "".join(
    path.read_text()
    for path in sorted((ROOT / "tests/cases").rglob("*.yaml"))
    if not path.is_relative_to(faults.TABLE)
)
HELD = [row for row in ROWS if "held_by" in row]


def test_every_fault_has_a_name_of_its_own() -> None:
    names = [row["id"] for row in ROWS]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_fault_says_what_happens_what_is_printed_and_what_to_do(row: dict[str, Any]) -> None:
    assert KEYS <= set(row) <= {*KEYS, "held_by", "long"}
    assert row["title"].strip()
    assert row["example"].strip()
    assert row["todo"].strip().endswith(".")


def test_every_fault_has_exactly_one_test_and_every_test_its_fault() -> None:
    assert sorted(CALLS) == sorted(row["id"] for row in ROWS if "held_by" not in row)


@pytest.mark.parametrize("row", HELD, ids=lambda row: row["id"])
def test_a_test_that_holds_a_fault_elsewhere_is_there(row: dict[str, Any]) -> None:
    path, _, name = row["held_by"].partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE)


@pytest.mark.parametrize("row", HELD, ids=lambda row: row["id"])
def test_what_is_shown_of_such_a_fault_is_what_its_test_holds(row: dict[str, Any]) -> None:
    held = (ROOT / row["held_by"].partition("::")[0]).read_text() + CASES
    assert [said for said in row["says"] if said not in row["example"]] == []
    assert [said for said in row["says"] if said not in held] == []


def test_the_faults_that_take_long_are_marked_here_and_there() -> None:
    marked = [name for text in TESTS if LONG.match(text) for name in CALL.findall(text)]
    assert sorted(marked) == sorted(row["id"] for row in ROWS if row.get("long"))


def test_the_page_is_current() -> None:
    assert faults.PAGE.read_text() == faults.page(), "run `python -m tools.faults`"

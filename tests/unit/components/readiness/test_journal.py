"""What is quoted of journals that real engines wrote as they failed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.readiness.journal import LONGEST, Line, first_complaint, last_words, lines

CASES = Path(__file__).parents[3] / "cases" / "readiness"
JOURNALS = yaml.safe_load((CASES / "journals.yaml").read_text())


@pytest.mark.parametrize("case", JOURNALS, ids=[case["journal"] for case in JOURNALS])
def test_the_first_complaint(case: dict[str, Any]) -> None:
    found = first_complaint(lines((CASES / "journals" / f"{case['journal']}.log").read_text()))
    assert (found and found.said) == case["said"]
    assert found is None or found.own == case.get("own", True)


def test_every_journal_is_a_case() -> None:
    assert {file.stem for file in (CASES / "journals").iterdir()} == {case["journal"] for case in JOURNALS}


def test_the_remarks_of_journalctl_are_no_lines() -> None:
    text = "-- No entries --\n12.5 lab-0 vllm[7]: (Worker pid=9) INFO 12-01 13:55:52 [a.py:1] Loading\n"
    assert lines(text) == (Line(12.5, "(Worker pid=9) INFO 12-01 13:55:52 [a.py:1] Loading"),)


def test_the_last_words_are_without_prefixes_and_blank_lines() -> None:
    journal = (Line(1, "(Worker pid=9) INFO 12-01 13:55:52 [a.py:1] Loading"), Line(2, " "))
    assert last_words(journal) == "Loading"
    assert last_words(()) is None


def test_of_two_linked_tracebacks_the_one_that_says_more_is_quoted() -> None:
    assert _quoted("The above exception was the direct cause of the following exception:") == "KeyError: 1"
    assert _quoted("During handling of the above exception, another exception occurred:") == "OSError: 2"


def _quoted(link: str) -> str | None:
    trace = "Traceback (most recent call last):"
    journal = [trace, "  File a", "KeyError: 1", "", link, "", trace, "  File b", "OSError: 2"]
    found = first_complaint([Line(number, text) for number, text in enumerate(journal)])
    return found.said if found else None


def test_a_long_error_is_cut() -> None:
    trace = [
        Line(1, "Traceback (most recent call last):"),
        Line(2, "  File a"),
        Line(3, "OSError: " + "x" * 999),
    ]
    found = first_complaint(trace)
    assert found is not None
    assert len(found.said) == LONGEST

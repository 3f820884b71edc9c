"""The text of a stack file: read as Pulumi reads it, or refused with line and column."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.config import read, text_of
from stacks.errors import ConfigError
from tests.unit.stacks.cases import cases

SOURCE = "stacks/Pulumi.x.yaml"
CASES = cases("config/files.yaml")


@pytest.mark.parametrize("case", [case for case in CASES if "faults" not in case.values[0]])  # type: ignore[operator]  # a case is a mapping
def test_the_fleet_is_read(case: dict[str, Any]) -> None:
    assert read(case["text"], SOURCE) == case["fleet"]


@pytest.mark.parametrize("case", [case for case in CASES if "faults" in case.values[0]])  # type: ignore[operator]  # as above
def test_a_fault_has_its_line_and_column(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refusal:
        read(case["text"], SOURCE)
    assert list(refusal.value.faults) == [f"{SOURCE}{fault}" for fault in case["faults"]]


def test_a_file_that_nests_without_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="nests too deep"):
        read("[" * 5000, SOURCE)


def test_a_file_that_refers_to_itself_over_and_over_is_refused_at_once() -> None:
    levels = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 10)]
    with pytest.raises(
        ConfigError, match=r": holds more than 10000 values, with what `\*` repeats; write less$"
    ):
        read("\n".join(["config: {}", "a0: &a0 [1]", *levels]), SOURCE)


def test_a_number_of_any_length_is_read() -> None:
    digits = "9" * 5000
    assert read(f"config: {{rackstack:fleet: {{a: {digits}, b: 0x{digits}}}}}", SOURCE) == {
        "a": digits,
        "b": f"0x{digits}",
    }


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("config: {a: é}\n".encode("utf-16"), ":1: is no text in UTF-8; save the file in UTF-8"),
        ("config:\n  a: é\n".encode("latin-1"), ":2: is no text in UTF-8; save the file in UTF-8"),
        (None, ": cannot be read: Is a directory; put a stack file there"),
    ],
    ids=["UTF-16", "Latin-1", "a folder"],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, written: bytes | None, fault: str) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.mkdir() if written is None else file.write_bytes(written)
    with pytest.raises(ConfigError) as refusal:
        text_of(file, SOURCE)
    assert list(refusal.value.faults) == [f"{SOURCE}{fault}"]


@given(st.text(st.sampled_from("ab:- \n\t{}[],&*!'\"#?|>%@`\x00é0.+1e_x<"), max_size=40))
def test_any_text_is_read_or_refused_in_one_line_each(text: str) -> None:
    faults: tuple[str, ...] = ()
    try:
        read(f"config:\n{text}", SOURCE)
    except ConfigError as refusal:
        faults = refusal.faults
    assert all(fault.startswith(SOURCE) and "\n" not in fault for fault in faults)

"""The program that tells what a host shows, run on this machine."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from components.bundles import there, witness

if TYPE_CHECKING:
    import pytest


def test_its_answer_is_one_word_that_is_read_again() -> None:
    printed = subprocess.run(
        [sys.executable, "-I", "-S", "-"], input=there.PROGRAM.read_text(),
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    told = there.unpacked(printed)
    assert told is not None
    assert "Linux" in told["system.txt"]
    assert len(printed) <= witness.MOST_PRINTED
    assert witness.LATE not in told


def test_what_there_was_no_time_for_is_named_and_nothing_stands_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(witness, "PATIENCE", 0.0)
    monkeypatch.setattr(witness, "FILES", ())
    witness.main()
    told = there.unpacked(capsys.readouterr().out)
    assert told is not None
    assert told.keys() == {witness.LATE}
    assert told[witness.LATE].split(", ") == ["journals", *witness.COMMANDS]


def test_units_that_ended_are_found_in_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "ssh.service\nrackstack-rank.service\nrackstack-gateway.service\n"
    monkeypatch.setattr(witness, "shown", lambda _: listed)
    assert witness.units() == ["rackstack-gateway.service", "rackstack-rank.service"]


def test_an_answer_that_was_cut_off_is_none() -> None:
    whole = witness.pack({"a": "b" * 1000})
    assert there.unpacked(whole) == {"a": "b" * 1000}
    assert there.unpacked(whole[: len(whole) // 2]) is None
    assert there.unpacked("sudo: a password is required") is None


def test_long_texts_keep_both_ends() -> None:
    assert witness.capped("first" + "x" * 100 + "last", 20).startswith("firstxxxxx\n[… ")
    assert witness.capped("first" + "x" * 100 + "last", 20).endswith("xxxxxxlast")
    assert witness.capped("short", 20) == "short"


def test_no_file_of_secrets_is_asked_for() -> None:
    for secret in ("rank.env", "keys.conf", "tls.key"):
        assert not any(pattern.endswith(secret) for pattern in witness.FILES)

"""The program that tells what a host shows, run on this machine."""

from __future__ import annotations

import subprocess
import sys

from components.bundles import there, witness


def test_its_answer_is_one_word_that_is_read_again() -> None:
    printed = subprocess.run(
        [sys.executable, "-I", "-S", "-"], input=there.PROGRAM.read_text(),
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    told = there.unpacked(printed)
    assert told is not None
    assert "Linux" in told["system.txt"]
    assert len(printed) <= witness.MOST_PRINTED


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

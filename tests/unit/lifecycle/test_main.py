"""What a person sees of what goes wrong around a command."""

from __future__ import annotations

import errno
import runpy
import sys

import pytest


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (
            OSError(errno.ENOSPC, "disk full", "/b.tar.gz"),
            1,
            "stack lab: bundle broke off: /b.tar.gz: disk full; mend that on this machine and run it again",
        ),
        (EOFError(), 1, "stack lab: the input ended before an answer: look, and add --yes"),
        (KeyboardInterrupt(), 130, "stack lab: bundle was interrupted; it may be run again"),
    ],
)
def test_what_goes_wrong_is_one_sentence_and_a_status(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
    sentence: str,
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(sys, "argv", ["lifecycle", "bundle", "--stack", "lab"])
    monkeypatch.setattr("lifecycle.environment.environment", dict)
    monkeypatch.setattr("lifecycle.collect.bundle", fail)
    with pytest.raises(SystemExit) as left:
        runpy.run_module("lifecycle", run_name="__main__")
    assert left.value.code == status
    assert capsys.readouterr().err == f"{sentence}\n"

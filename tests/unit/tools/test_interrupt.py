"""Ctrl-C ends a tool with one sentence, wherever it hits."""

import subprocess
import sys

from tools.bootstrap.work import CHECKOUT


def test_ctrl_c_is_one_sentence_and_its_own_status() -> None:
    done = run("import tools; raise KeyboardInterrupt")
    assert done.returncode == 130
    assert done.stderr == "stopped; the same command again goes on from here\n"


def test_a_bug_keeps_its_traceback() -> None:
    done = run("import tools; raise ValueError('a bug')")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

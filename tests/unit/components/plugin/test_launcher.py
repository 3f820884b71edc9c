"""The launcher says in a sentence what it lacks."""

import subprocess
import sys
from pathlib import Path

LAUNCHER = Path(__file__).resolve().parents[4] / "components" / "plugin" / "pulumi-resource-rack"


def _launched(path: Path) -> subprocess.CompletedProcess[str]:
    found = {"PATH": f"{path}:/usr/bin:/bin"}
    return subprocess.run([LAUNCHER, "127.0.0.1:1"], env=found, capture_output=True, text=True, check=False)


def test_a_python_without_the_packages_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    done = _launched(tmp_path)
    assert done.returncode == 1
    assert "lacks grpc, pulumi, pydantic" in done.stderr
    assert "pip install -r requirements.txt" in done.stderr
    assert "Traceback" not in done.stderr

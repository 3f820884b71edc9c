"""What `make up` prints at its end works when pasted, and shows the key to nobody."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.drive import farewell

KEY = "rk-secret"


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_what_is_pasted_has_the_key_and_its_arguments_have_not(tmp_path: Path, shell: str) -> None:
    program(tmp_path / "make", f"echo '{json.dumps({'apiKey': KEY})}'")
    program(tmp_path / ".venv/bin/python", f'exec {sys.executable} "$@"')
    snippet = "import os\nopen('asked', 'w').write(os.environ['OPENAI_API_KEY'])\n"
    program(tmp_path / "curl", 'printf "%s\\n" "$@" >arguments; cat >header')
    commands = farewell.text("lab", "lab-qwen3", "http://10.0.0.2:8000/v1", snippet)
    pasted = commands.split("in this folder:")[1]
    subprocess.run(
        [shell], input=pasted, cwd=tmp_path, env={"PATH": f"{tmp_path}:/bin"}, text=True, check=True
    )
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert (tmp_path / "header").read_text() == f"Authorization: Bearer {KEY}"
    assert "http://10.0.0.2:8000/v1/chat/completions" in arguments
    assert json.loads(arguments[-1])["model"] == "lab-qwen3"
    assert (tmp_path / "asked").read_text() == KEY
    assert not [each for each in arguments if KEY in each]


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)

"""What `make up` prints at its end works when pasted, and shows the key to nobody."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.drive import farewell

KEY = "rk-secret"
AUTHORITY = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


ENDPOINT = "https://10.0.0.2:8443/v1"
SNIPPET = """import os
open('asked', 'w').write(os.environ['OPENAI_API_KEY'] + os.environ.get('SSL_CERT_FILE', ' unset'))
"""


def outputs(**changed: str) -> dict[str, str]:
    """Return what a stack says of itself."""
    told = {"model": "lab-qwen3", "endpoint": ENDPOINT, "snippet": SNIPPET, "caCertificate": AUTHORITY}
    return told | {"apiKey": "[secret]"} | changed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with what the commands call: each writes down what it was told."""
    (tmp_path / "outputs.json").write_text(json.dumps(outputs(apiKey=KEY)))
    program(tmp_path / "make", "cat outputs.json")
    program(tmp_path / ".venv/bin/python", f'exec {sys.executable} "$@"')
    program(tmp_path / "curl", 'printf "%s\\n" "$@" >arguments; cat >header')
    (tmp_path / ".state").mkdir()
    return tmp_path


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_what_is_pasted_has_the_key_and_its_arguments_have_not(folder: Path, shell: str) -> None:
    arguments = paste(folder, shell, farewell.text("lab", outputs()))
    assert (folder / "header").read_text() == f"Authorization: Bearer {KEY}"
    assert f"{ENDPOINT}/chat/completions" in arguments
    assert json.loads(arguments[-1])["model"] == "lab-qwen3"
    file = arguments[arguments.index("--cacert") + 1]
    assert (folder / file).read_text().strip() == AUTHORITY.strip()
    assert (folder / "asked").read_text() == f"{KEY}{file}"
    assert not [each for each in arguments if KEY in each]


def test_without_an_authority_of_its_own_the_machines_are_trusted(folder: Path) -> None:
    arguments = paste(folder, "sh", farewell.text("lab", outputs(caCertificate="")))
    assert "--cacert" not in arguments
    assert (folder / "asked").read_text() == f"{KEY} unset"


def test_a_private_endpoint_is_opened_first() -> None:
    shown = farewell.text("lab", outputs(reach="ssh -N -L 1:2:3 root@a"))
    line = shown.index("\nssh -N -L 1:2:3 root@a\n")
    assert "terminal of its own" in shown[:line]
    assert "curl" in shown[line:]


def paste(folder: Path, shell: str, shown: str) -> list[str]:
    """Return the arguments of curl, once a shell has read what follows the words."""
    pasted = shown.split("in this folder:")[1]
    subprocess.run([shell], input=pasted, cwd=folder, env={"PATH": f"{folder}:/bin"}, text=True, check=True)
    return (folder / "arguments").read_text().splitlines()


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)

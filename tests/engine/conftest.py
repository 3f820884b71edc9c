"""A Pulumi project with the plugin and its test kinds, driven by the real engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PASSPHRASE = "for tests only"  # noqa: S105 -- encrypts a backend that the test throws away
KEY = "k-configured-secret"


class Project:
    """One stack in a backend of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "backend").mkdir()
        shutil.copy(HERE / "project" / "__main__.py", home)
        provider = {"name": "rack", "path": str(HERE / "plugin")}
        project = {"name": "trial", "runtime": "python", "plugins": {"providers": [provider]}}
        (home / "Pulumi.yaml").write_text(yaml.safe_dump(project))
        self.pulumi("stack", "init", "s")
        self.pulumi("config", "set", "--secret", "key", KEY)

    @property
    def environment(self) -> dict[str, str]:
        """Environment of every command; this Python's folder is first on PATH, as `make` arranges it."""
        return {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PULUMI_HOME": str(self.home / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{self.home}/backend",
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "PULUMI_SKIP_UPDATE_CHECK": "1",
        }

    def want(self, *things: dict[str, Any], kind: str = "thing") -> None:
        """Set which things the program declares."""
        listed = [{"kind": kind, "inputs": thing} for thing in things]
        self.pulumi("config", "set", "things", json.dumps(listed))

    def command(self, *arguments: str) -> list[str]:
        """Return the argument list of a Pulumi command."""
        return ["pulumi", *arguments, "--non-interactive", "--color", "never"]

    def pulumi(self, *arguments: str, code: int = 0) -> str:
        """Run a command; its exit status must be `code`. Returns what it printed."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.home, env=self.environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def up(self, code: int = 0) -> str:
        """Run `up` with a look first."""
        return self.pulumi("up", "--yes", "--skip-preview", "--refresh", code=code)

    def state(self) -> dict[str, dict[str, Any]]:
        """Return the custom resources in state by logical name."""
        exported = json.loads(self.pulumi("stack", "export"))
        resources = exported["deployment"].get("resources", [])
        return {
            each["urn"].rsplit("::", 1)[1]: each for each in resources if each["type"].startswith("rack:")
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a fresh project whose stack exists."""
    if shutil.which("pulumi") is None:
        pytest.fail("pulumi is not on PATH; run `make test`, which installs it")
    return Project(tmp_path)

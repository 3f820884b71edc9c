"""A Pulumi project with the plugin and its test kinds, driven by the real engine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.factories.pulumi import Pulumi

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KEY = "k-configured-secret"


class Project(Pulumi):
    """One stack whose configuration lists the things that it declares."""

    project = "trial"

    def __init__(self, home: Path) -> None:
        super().__init__(home, home / "state", "s", PYTHONPATH=str(ROOT))
        shutil.copy(HERE / "project" / "__main__.py", home)
        provider = {"name": "rack", "path": str(HERE / "plugin")}
        project = {"name": self.project, "runtime": "python", "plugins": {"providers": [provider]}}
        (home / "Pulumi.yaml").write_text(yaml.safe_dump(project))
        self.run("stack", "init", "s")
        self.run("config", "set", "--secret", "key", KEY)

    def want(self, *things: dict[str, Any], kind: str = "thing") -> None:
        """Set which things the program declares."""
        listed = [{"kind": kind, "inputs": thing} for thing in things]
        self.run("config", "set", "things", json.dumps(listed))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a fresh project whose stack exists."""
    if shutil.which("pulumi") is None:
        pytest.fail("pulumi is not on PATH; run `make test`, which installs it")
    return Project(tmp_path)

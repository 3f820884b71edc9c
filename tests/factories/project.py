"""Copies of this project, as a second person would have it."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


def copy_project(home: Path) -> None:
    """Copy what git would commit."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
        capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, listed):
        if (ROOT / name).exists():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, home / name)


def change_fleet(home: Path, stack: str = "lab", /, **wanted: Any) -> None:
    """Change top-level values of the fleet in a stack file of a copy."""
    path = home / "stacks" / f"Pulumi.{stack}.yaml"
    written = yaml.safe_load(path.read_text())
    written["config"]["rackstack:fleet"].update(wanted)
    path.write_text(yaml.safe_dump(written))

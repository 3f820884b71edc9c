"""What the operator's machine knows: the plan, versions, and what Ansible did last."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components.bundles import archive

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES: Final = (
    "pulumi",
    "grpcio",
    "pydantic",
    "ansible-core",
    "ansible-runner",
    "paramiko",
    "cryptography",
)
MOST_RUNS: Final = 4
_RUN_FILES: Final = ("supervisor.log", "artifacts/run/stdout", "artifacts/run/rc")
_PATIENCE: Final = 5.0


def seen(fleet: str) -> dict[str, str]:
    """Return file in the archive → text, of everything that this machine keeps of a fleet."""
    return {"versions.txt": _versions(), **dict(_plan(fleet)), **dict(_runs(fleet))}


def _versions() -> str:
    lines = [
        f"{platform.node()}: {platform.platform()}",
        f"python {sys.version.split()[0]}",
        f"engine {_engine()}",
        *(f"{name} {_version(name)}" for name in PACKAGES),
    ]
    return "\n".join(lines) + "\n"


def _plan(fleet: str) -> Iterator[tuple[str, str]]:
    if (text := _text(archive.plan_file(fleet))) is not None:
        yield "plan.json", text


def _runs(fleet: str) -> Iterator[tuple[str, str]]:
    """Yield what the last failed runs of Ansible left; good ones leave nothing."""
    runs = sorted((archive.STATE / "runs").glob(f"{fleet}-*"), key=lambda each: each.stat().st_mtime)
    for run in runs[-MOST_RUNS:]:
        for name in _RUN_FILES:
            if text := _text(run / name):
                yield f"ansible/{run.name}/{Path(name).name}", text


def _engine() -> str:
    try:
        return subprocess.run(
            ["pulumi", "version"], capture_output=True, text=True, check=False, timeout=_PATIENCE
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not known: {error}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None

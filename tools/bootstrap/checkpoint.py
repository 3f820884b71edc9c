"""The lab's small model, written by tools.model and checked against the committed manifest."""

from pathlib import Path
from typing import Any

import yaml

from components.machines.lab import cache
from stacks.errors import Refusal
from tools.bootstrap.work import CHECKOUT, alone, placed, tell

NAME = "lab-qwen3-bf16"
"""Model and checkpoint, as a plan names them (`stacks.planning.plan.Checkpoint`)."""
MANIFEST = CHECKOUT / "stacks/catalog/manifests/lab-qwen3.yaml"


def ensure() -> Path:
    """Return the checkpoint's folder, writing it first where it is missing.

    Raises:
        Refusal: What was written is not what the manifest says.
    """
    manifest = yaml.safe_load(MANIFEST.read_text())
    folder = cache.checkpoints() / NAME / str(manifest["revision"])
    if not folder.is_dir():
        with alone():
            _write(folder, manifest["files"])
    return folder


def _write(folder: Path, expected: dict[str, Any]) -> None:
    if folder.is_dir():
        return
    try:
        from tools import model  # noqa: PLC0415 - numpy is not worth loading where nothing is written
    except ImportError as error:
        raise Refusal(
            f"model: writing {NAME} needs the Python package {error.name}: `pip install -r"
            " requirements-dev.txt`, then run again"
        ) from error
    tell("model", f"writing {NAME}")
    with placed(folder) as part:
        model.build(part)
        written = model.files(part)
        if wrong := sorted(name for name in {*written, *expected} if written.get(name) != expected.get(name)):
            raise Refusal(
                f"model: {', '.join(wrong)} of {NAME} came out other than {MANIFEST.name} says: use the pins"
                " of requirements-dev.txt, or `make lock` where the model is meant to change"
            )
    tell("model", f"{NAME} is in {folder}")

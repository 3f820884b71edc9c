"""Folders that `destroy` removes whole: what a stack file may not name is what the roles really remove."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from stacks.config.storage import OURS, REMOVED

ROLES = Path(__file__).parents[2] / "playbooks" / "roles"


def removed(tasks: list[dict[str, Any]]) -> Iterator[str]:
    """Yield every path that tasks remove under its own name; variables hold files, and folders of a fleet."""
    for task in tasks:
        yield from removed(task.get("block", []))
        asked = task.get("ansible.builtin.file", {})
        if asked.get("state") == "absent":
            yield from (path for path in (asked["path"], *task.get("loop", [])) if path.startswith("/"))


def test_no_stack_keeps_checkpoints_in_what_destroy_removes() -> None:
    files = ROLES.glob("*/tasks/*.yml")
    found = {path for file in files for path in removed(yaml.safe_load(file.read_text())) if "{{" not in path}
    assert found == {*REMOVED, OURS}

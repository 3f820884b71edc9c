"""What each role of a playbook consists of, as one digest per role. Reads files, and nothing about them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from components.hosts.playbook import PLAYBOOKS

MARKER = "marker"  # writes the digests down; its own would only be noise in a diff


def digests(playbook: str) -> dict[str, str]:
    """Return role → SHA-256 (hex) over its files and over the playbook that calls it.

    Names and contents count; times, owners and where the checkout lies do not.

    Args:
        playbook: Name of the playbook, without `.yml`.
    """
    text = (PLAYBOOKS / f"{playbook}.yml").read_bytes()
    names = dict.fromkeys(_called(yaml.safe_load(text)))
    return {name: _digest(PLAYBOOKS / "roles" / name, text) for name in names if name != MARKER}


def _called(node: Any) -> Iterator[str]:
    """Yield the roles that a playbook calls, in order, also those in the tasks of nested blocks."""
    if isinstance(node, list):
        for item in node:
            yield from _called(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "roles":
                yield from (entry if isinstance(entry, str) else entry["role"] for entry in value)
            elif key.removeprefix("ansible.builtin.") in ("import_role", "include_role"):
                yield value["name"]
            else:
                yield from _called(value)


def _digest(role: Path, playbook: bytes) -> str:
    total = hashlib.sha256(hashlib.sha256(playbook).digest())
    for path in sorted(path for path in role.rglob("*") if path.is_file()):
        total.update(hashlib.sha256(path.relative_to(role).as_posix().encode()).digest())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()

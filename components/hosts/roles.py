"""What each role of a playbook consists of, as one digest per role. Reads files, and nothing about them."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from components.hosts.playbook import PLAYBOOKS

SHARED = "plugins"
MARKER = "marker"  # writes the digests down; its own would only be noise in a diff


def digests(playbook: str, without: Collection[str] = ()) -> dict[str, str]:
    """Return role → SHA-256 (hex) over its files and over the playbook that calls it.

    Roles that a role calls are there too, and `plugins` for what all playbooks share. Names and contents
    count; times, owners and where the checkout lies do not.

    Args:
        playbook: Name of the playbook, without `.yml`.
        without: Roles that the fleet runs nothing of.
    """
    file = PLAYBOOKS / f"{playbook}.yml"
    text = file.read_bytes()
    names = _all_called(file, {MARKER, *without})
    roles = {name: _digest(_sources(PLAYBOOKS / "roles" / name), text) for name in names}
    return roles | {SHARED: _digest(_shared(), b"")}


def _all_called(playbook: Path, without: Collection[str]) -> list[str]:
    """Return the roles that a playbook calls, and those that they call in turn, but for some."""
    found = [name for name in dict.fromkeys(_called(_parsed(playbook))) if name not in without]
    for name in found:  # grows while it is walked
        for tasks in sorted((PLAYBOOKS / "roles" / name / "tasks").glob("*.yml")):
            called = dict.fromkeys(_called(_parsed(tasks)))
            found.extend(each for each in called if each not in found and each not in without)
    return found


def _parsed(file: Path) -> Any:
    # The C parser, because every preview reads all role files: a quarter of a second in Python.
    return yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)


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


def _sources(folder: Path) -> dict[str, Path]:
    """Return the files below a folder by their name below it, compiled Python left out."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path for path in files}


def _shared() -> dict[str, Path]:
    """Return the files that every playbook uses: variables of groups and plugins."""
    folders = [*PLAYBOOKS.glob("*_plugins"), *PLAYBOOKS.glob("*_vars")]
    return {f"{each.name}/{name}": path for each in folders for name, path in _sources(each).items()}


def _digest(sources: Mapping[str, Path], playbook: bytes) -> str:
    total = hashlib.sha256(hashlib.sha256(playbook).digest())
    for name, path in sorted(sources.items()):
        total.update(hashlib.sha256(name.encode()).digest())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()

"""Imports point one way, and each foreign library has one importer."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("stacks", "components", "lifecycle", "tools")

SHARED = ("stacks.errors", "stacks.values", "stacks.faults", "stacks.places", "stacks.accounts", "stacks.lab")
BELOW = {
    "stacks.errors": (),
    "stacks.values": (),
    "stacks.places": (),
    "stacks.accounts": (),
    "stacks.lab": (),
    "stacks.faults": ("stacks.places",),
    "stacks.config": SHARED,
    "stacks.catalog": (*SHARED, "stacks.config"),
    "stacks.planning": (*SHARED, "stacks.config", "stacks.catalog"),
    "stacks.report": (*SHARED, "stacks.planning"),
    "stacks": (),
    "components": ("stacks",),
    "lifecycle": ("stacks", "components"),
    "tools": ("stacks", "components", "lifecycle"),
}
"""Part → parts of ours that it may import beside itself."""

ONE_IMPORTER = {
    "ansible_runner": {"components/hosts/supervisor.py"},
    "paramiko": {"components/hosts/ssh.py"},
    "boto3": set(),
    "cryptography": {"components/gateway/certificates.py"},
}
PURE = sys.stdlib_module_names | {"pydantic", "pydantic_core", "yaml", "stacks"}
EFFECTS = {
    "asyncio",
    "datetime",
    "http",
    "os",
    "random",
    "secrets",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "time",
    "urllib",
}
"""Modules of the standard library that reach the clock, the network, the environment or other processes."""


def sources(*rooms: str) -> list[Path]:
    return sorted(file for room in rooms for file in (ROOT / room).rglob("*.py"))


@cache
def imports(file: Path) -> tuple[str, ...]:
    return tuple(_imports(file))


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute here"
            yield node.module or ""


def part(module: str) -> str | None:
    """Return the longest part that a module belongs to, None for foreign ones."""
    return max((name for name in BELOW if f"{module}.".startswith(f"{name}.")), key=len, default=None)


def named(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("file", sources(*ROOMS), ids=named)
def test_imports_point_one_way(file: Path) -> None:
    own = part(named(file).removesuffix(".py").replace("/", "."))
    assert own is not None
    wrong = {
        module
        for module in imports(file)
        if (other := part(module)) not in {None, own} and not allowed(own, str(other))
    }
    assert not wrong, f"{named(file)} may not import {wrong}"


def allowed(own: str, other: str) -> bool:
    return any(f"{other}.".startswith(f"{below}.") for below in BELOW[own])


@pytest.mark.parametrize("file", sources("stacks"), ids=named)
def test_intent_is_pure(file: Path) -> None:
    roots = {module.split(".")[0] for module in imports(file)}
    assert roots <= PURE
    assert not roots & EFFECTS


@pytest.mark.parametrize("library", ONE_IMPORTER)
def test_one_importer_per_foreign_library(library: str) -> None:
    importers = {
        named(file)
        for file in sources(*ROOMS)
        if any(module.split(".")[0] == library for module in imports(file))
    }
    assert importers <= ONE_IMPORTER[library]


def test_nothing_of_the_product_imports_the_tests() -> None:
    assert not [
        named(file) for file in sources(*ROOMS) if any(part.startswith("tests") for part in imports(file))
    ]

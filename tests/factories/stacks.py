"""Shipped stacks, as they stand or with changes."""

import copy
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from stacks.catalog import Catalog, load
from stacks.config import FleetConfig, parse, read
from stacks.planning import FleetPlan, plan
from stacks.planning.choose import design
from stacks.planning.design import Design

FOLDER = Path(__file__).parents[2] / "stacks"


def _is_shipped(file: Path) -> bool:
    """Return whether a stack names no machine: one that does is somebody's own."""
    written: Any = read(file.read_text(), file.name)
    return not written["machines"].get("hosts")


FILES = sorted(filter(_is_shipped, FOLDER.glob("Pulumi.*.yaml")))
"""Files of all shipped stacks."""
NAMES = [file.name.split(".", 1)[1].removesuffix(".yaml") for file in FILES]
"""Their names."""


@cache
def catalog() -> Catalog:
    """Return the shipped catalog."""
    return load()


def fleet(stack: str, changes: Mapping[str, Any] | None = None, drop: Iterable[str] = ()) -> Any:
    """Return the fleet of a shipped stack, with values set and dropped by their dotted path."""
    name = f"Pulumi.{stack}.yaml"
    changed = copy.deepcopy(read((FOLDER / name).read_text(), name))
    for path, value in (changes or {}).items():
        above, key = _parent(changed, path)
        above[key] = value
    for path in drop:
        above, key = _parent(changed, path)
        del above[key]
    return changed


def config(stack: str, changes: Mapping[str, Any] | None = None, drop: Iterable[str] = ()) -> FleetConfig:
    """Return a shipped stack's configuration, changed."""
    return parse(fleet(stack, changes, drop), f"stacks/Pulumi.{stack}.yaml")


def designed(stack: str, changes: Mapping[str, Any] | None = None, drop: Iterable[str] = ()) -> Design:
    """Return what the planner chooses for a shipped stack, changed."""
    return design(config(stack, changes, drop), catalog(), stack)


def planned(stack: str, changes: Mapping[str, Any] | None = None, drop: Iterable[str] = ()) -> FleetPlan:
    """Return the plan of a shipped stack, changed."""
    return plan(config(stack, changes, drop), catalog(), stack)


def _parent(tree: Any, path: str) -> tuple[Any, str]:
    *above, key = path.split(".")
    for part in above:
        tree = tree.setdefault(part, {})
    return tree, key

"""Reads case files: each case is a change to a fleet that can work, and what must come of it."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from _pytest.mark.structures import ParameterSet

CASES = Path(__file__).parents[2] / "cases" / "stacks"

FLEET: dict[str, Any] = {
    "machines": {"provider": "lab", "count": 2, "cpus": 1, "memory_gib": 4, "image": "bookworm-2"},
    "fabric": "ethernet",
    "model": "small",
    "engine": "cpu-1.2.3",
    "layout": {"tensor_parallel": 2},
    "workload": {
        "context": 1024,
        "concurrency": 2,
        "traffic": "interactive",
        "prefer": "least-hardware",
    },
}
"""A fleet that works with the stand-in catalog in `tests/cases/stacks/catalog`."""


def cases(file: str) -> list[ParameterSet]:
    """Return the cases of a file below `tests/cases/stacks` as test parameters."""
    return [pytest.param(case, id=case["name"]) for case in yaml.safe_load((CASES / file).read_text())]


def fleet(case: dict[str, Any]) -> Any:
    """Return the fleet of a case: `fleet` as it stands, or the working one with `start`, `set` and `drop`."""
    if "fleet" in case:
        return case["fleet"]
    changed = copy.deepcopy(FLEET | case.get("start", {}))
    for path, value in case.get("set", {}).items():
        at, key = _parent(changed, path)
        at[key] = value
    for path in case.get("drop", []):
        at, key = _parent(changed, path)
        del at[key]
    return changed


def _parent(tree: dict[Any, Any], path: object) -> tuple[dict[Any, Any], object]:
    if not isinstance(path, str):
        return tree, path
    *above, key = path.split(".")
    for part in above:
        tree = tree[part]
    return tree, key

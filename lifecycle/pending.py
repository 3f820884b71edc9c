"""Operations that a killed run left open in the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lifecycle.stack import Stack


def settle(stack: Stack, state: Mapping[str, Any]) -> list[str]:
    """Drop the open operations from the state; return one line per operation. Nobody may hold the stack.

    What they concern is neither lost nor made twice by that. A create finds its thing by its deterministic
    name, and the inventory, which is made before everything else and deleted last, sweeps what no state
    knows; if the inventory itself is open, nothing else exists yet. An update or a delete leaves its resource
    in the state as it was, and the next run looks at it again.

    Not `refresh --clear-pending-creates`: it looks at every host first, so one that is dead holds it up, and
    it writes what it sees into the state. An import changes nothing else, keeps secrets encrypted, and takes
    the stack's lock, so whoever works on it by now is not written over.

    Args:
        stack: The stack.
        state: Its state, exported just now: within less time than the shortest run takes.
    """
    deployment = dict(state["deployment"])
    open_operations = deployment.pop("pending_operations", None) or []
    if not open_operations:
        return []
    stack.replace({**state, "deployment": deployment})
    return [
        f"closed an operation that was broken off: {each['type']} {_named(each['resource'])}"
        for each in open_operations
    ]


def _named(resource: Mapping[str, Any]) -> str:
    return f"{resource['urn'].rsplit('::', 1)[-1]} ({resource['type']})"

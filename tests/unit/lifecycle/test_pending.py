"""What is put back in the place of a state with open operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lifecycle import pending

if TYPE_CHECKING:
    from tests.unit.lifecycle.conftest import Written

KEPT = {"urn": "urn:pulumi:lab::rackstack::rack:lab:Host::host-0", "type": "rack:lab:Host", "id": "host-0/1"}


def _state(*kinds: str) -> dict[str, Any]:
    open_ = [{"type": kind, "resource": KEPT} for kind in kinds]
    return {"version": 3, "deployment": {"resources": [KEPT], "pending_operations": open_}}


@pytest.mark.parametrize("kind", ["creating", "updating", "deleting", "reading", "importing"])
def test_only_the_operation_goes_and_its_resource_stays_as_it_was(
    stack: Written, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    put: list[Any] = []
    monkeypatch.setattr(stack, "replace", put.append)
    assert pending.settle(stack, _state(kind)) == [
        f"closed an operation that was broken off: {kind} host-0 (rack:lab:Host)"
    ]
    assert put == [{"version": 3, "deployment": {"resources": [KEPT]}}]


def test_a_state_without_any_is_left_alone(stack: Written) -> None:
    assert pending.settle(stack, _state()) == []
    assert stack.asked == []

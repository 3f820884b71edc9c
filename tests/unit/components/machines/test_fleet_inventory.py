"""The fleet's record: what is left is removed, and named where it does not go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from components import fleet_inventory
from components.fleet_inventory import Inventory, InventoryInputs, InventoryOutputs
from stacks.errors import Refusal
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.hosts.record import Contact
    from components.plugin.kind import Run

INPUTS = InventoryInputs(fleet="lab-3fa2c1", provider="lab")
OUTPUTS = InventoryOutputs(incarnation="i1")


class FakeProvider:
    """Things that go one at a time, some of them never."""

    def __init__(self, *things: str, held: str | None = None) -> None:
        self.things = list(things)
        self.held = held

    def list_things(self, fleet: str, hosts: Sequence[Contact]) -> Sequence[str]:
        """Return what is left."""
        assert not hosts
        assert fleet == INPUTS.fleet
        return tuple(self.things)

    def remove_strays(self, fleet: str, hosts: Sequence[Contact], run: Run) -> None:
        """Remove one thing that goes."""
        del hosts, run
        assert fleet == INPUTS.fleet
        loose = [thing for thing in self.things if thing != self.held]
        if not loose:
            raise Refusal(f"{self.held} is held by process 7")
        self.things.remove(loose[0])


def _use(monkeypatch: pytest.MonkeyPatch, machines: FakeProvider) -> None:
    monkeypatch.setattr(fleet_inventory, "provider", lambda _: machines)
    monkeypatch.setattr(fleet_inventory, "SECOND_LOOK", 0.0)


def test_nothing_left_is_nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, FakeProvider())
    run = FakeRun()
    Inventory().delete(INPUTS, OUTPUTS, run)
    assert run.said == []


def test_it_looks_again_until_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = FakeProvider("machine h1", "bridge")
    _use(monkeypatch, machines)
    run = FakeRun()
    Inventory().delete(INPUTS, OUTPUTS, run)
    assert machines.things == []
    assert run.said[0].endswith("machine h1, bridge")


def test_what_does_not_go_is_named_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, FakeProvider("machine h1", "bridge", held="bridge"))
    with pytest.raises(Refusal, match=r"still has: bridge \(bridge is held by process 7\); end"):
        Inventory().delete(INPUTS, OUTPUTS, FakeRun())

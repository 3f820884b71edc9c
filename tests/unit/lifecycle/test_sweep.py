"""When nothing is swept."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from components.fleet_inventory import InventoryInputs
from lifecycle import sweep
from stacks.errors import Refusal
from tests.factories.hosts import KEY, KEY2
from tests.factories.stacks import config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.hosts.record import Contact
    from components.plugin.kind import Run
    from tests.unit.lifecycle.conftest import Written


class Site:
    """A provider with one machine."""

    def __init__(self) -> None:
        self.things = ["machine m"]

    def list_things(self, fleet: str, hosts: Sequence[Contact]) -> Sequence[str]:
        """Return it."""
        del fleet, hosts
        return list(self.things)

    def remove_strays(self, fleet: str, hosts: Sequence[Contact], run: Run) -> None:
        """Remove it."""
        del fleet, hosts, run
        self.things.clear()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    """Stand in for the provider."""
    made = Site()
    monkeypatch.setattr(sweep, "provider", lambda _: made)
    monkeypatch.setattr("components.fleet_inventory.provider", lambda _: made)
    monkeypatch.setattr("components.fleet_inventory.SECOND_LOOK", 0)
    return made


def _swept(*, sure: bool) -> list[str]:
    told: list[str] = []
    record = InventoryInputs(fleet="lab-1", provider="lab")
    return [*sweep.sweep(record, sweep.Told(threading.Event(), told.append), sure=sure), *told]


def test_what_exists_is_told_removed_and_looked_for_again(site: Site) -> None:
    said = _swept(sure=True)
    assert said[0] == "removed 1 things of fleet lab-1; nothing is left under its name"
    assert "lab-1 has: machine m" in said
    assert site.things == []
    assert _swept(sure=True) == []


def test_without_a_yes_nothing_goes(site: Site) -> None:
    with pytest.raises(Refusal, match=r"nobody is here to say yes to 1 things: look, and add --yes"):
        _swept(sure=False)
    assert site.things == ["machine m"]


def test_a_persons_own_machines_are_those_of_the_stack_file() -> None:
    hosts = [
        {"address": "10.0.0.1", "host_key": KEY},
        {"name": "two", "address": "10.0.0.2", "host_key": KEY2},
    ]
    changes = {"machines.hosts": hosts}
    listed = config("kimi-k3-gb300", changes | {"machines.identity": "/keys/one"}).machines
    found = sweep.inventory("k3-1", listed).hosts
    assert [(each.name, each.address) for each in found] == [
        ("machines.hosts[0]", "10.0.0.1"),
        ("two", "10.0.0.2"),
    ]
    assert {each.identity_file for each in found} == {"/keys/one"}
    assert sweep.inventory("k3-1", config("kimi-k3-gb300").machines).hosts == []
    with pytest.raises(Refusal, match=r"machines\.identity is not given"):
        sweep.inventory("k3-1", config("kimi-k3-gb300", changes).machines)


@pytest.mark.parametrize(
    ("types", "lost"), [(["rack:lab:Host"], False), (["pulumi:pulumi:Stack"], True), ([], True)]
)
def test_a_state_that_still_knows_the_fleet_is_not_lost(
    stack: Written, monkeypatch: pytest.MonkeyPatch, types: list[str], *, lost: bool
) -> None:
    resources: list[dict[str, Any]] = [{"type": each} for each in types]
    monkeypatch.setattr(stack, "exists", lambda: True)
    monkeypatch.setattr(stack, "export", lambda: {"deployment": {"resources": resources}})
    if lost:
        sweep.require_lost(stack)
        return
    with pytest.raises(
        Refusal, match=r"its state holds 1 resources, so it is not lost: `make down STACK=lab`"
    ):
        sweep.require_lost(stack)

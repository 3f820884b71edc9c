"""The providers by name, and the rule for a fleet's name."""

from __future__ import annotations

import pytest

from components.fleet_inventory import Inventory, InventoryInputs
from components.machines.provider import PROVIDERS, fleet_faults, provider


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_every_provider_lists_and_removes(name: str) -> None:
    found = provider(name)
    assert callable(found.list_things)
    assert callable(found.remove_strays)


@pytest.mark.parametrize("fleet", ["lab-3fa2c1", "qwen3.8-b300-3fa2c1", "a.b.c", "A"])
def test_stack_names_make_fleet_names(fleet: str) -> None:
    assert list(fleet_faults(fleet)) == []


@pytest.mark.parametrize("fleet", ["", ".", "..", "../etc", "a/b", "a b", "-a", "ü", "a" * 101])
def test_what_leads_elsewhere_is_no_fleet_name(fleet: str) -> None:
    assert len(list(fleet_faults(fleet))) == 1


def test_the_inventory_tells_every_fault_at_once() -> None:
    faults = Inventory().faults(InventoryInputs(fleet="..", provider="moon"))
    assert len(faults) == 2
    assert "take one of: baremetal, lab" in faults[1]

"""When nothing is swept."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from lifecycle import sweep
from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.lifecycle.conftest import Written


class Site:
    """A provider with one machine."""

    def __init__(self) -> None:
        self.things = ["machine m"]

    def list_things(self, fleet: str) -> Sequence[str]:
        """Return it."""
        del fleet
        return list(self.things)

    def remove_strays(self, fleet: str) -> None:
        """Remove it."""
        del fleet
        self.things.clear()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    """Stand in for the provider."""
    made = Site()
    monkeypatch.setattr(sweep, "provider", lambda _: made)
    monkeypatch.setattr("components.fleet_inventory.provider", lambda _: made)
    monkeypatch.setattr("components.fleet_inventory.SECOND_LOOK", 0)
    return made


def _swept(*, sure: bool, machines: str = "lab") -> list[str]:
    told: list[str] = []
    return [*sweep.sweep("lab-1", machines, sweep.Told(threading.Event(), told.append), sure=sure), *told]


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


def test_machines_that_are_not_ours_cannot_be_swept() -> None:
    with pytest.raises(Refusal, match=r"^provider baremetal: its machines are not ours"):
        _swept(sure=True, machines="baremetal")


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

"""What a fleet left on machines, as those tell it; the machines are stand-ins here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from components.hosts import playbook
from components.hosts.record import Contact
from components.machines.baremetal.host import Host
from components.machines.baremetal.strays import BareMetal
from tests.factories.baremetal import OTHER, claim
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.hosts.record import HostRecord
    from components.machines.baremetal.host import HostInputs
    from tests.factories.baremetal import Machine, World

OWN = OTHER | {"fleet": "f-000000"}


@pytest.fixture
def cleared(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the machines of each way back, none of which is taken."""
    taken: list[list[str]] = []

    def take_back(fleet: str, hosts: Sequence[HostRecord], _: object) -> None:
        assert fleet == "f-000000"
        taken.append([each.name for each in hosts])

    monkeypatch.setattr(playbook, "take_back", take_back)
    return taken


def contact(inputs: HostInputs) -> Contact:
    return Contact(**{name: getattr(inputs, name) for name in Contact.model_fields})


def test_strays_are_listed_with_the_machines_that_cannot_be_asked(
    world: World, machine: Machine, cleared: list[list[str]]
) -> None:
    second, third = world.add("10.0.0.2", time.time()), world.add("10.0.0.3", time.time())
    hosts = [contact(claim(f"node-{index}", address)) for index, address in enumerate(world.machines)]
    assert BareMetal().list_things("f-000000", hosts) == []
    Host().create(claim(), FakeRun())
    machine.fleets = ["f-000000"]
    second.write(OTHER)
    third.answers = False
    assert BareMetal().list_things("f-000000", hosts) == [
        "what it set up on node-0 (10.0.0.1), with /var/lib/rackstack/f-000000",
        "the lease /var/lib/rackstack-lease of node-0 (10.0.0.1)",
        "maybe the lease of node-2 (10.0.0.3), which cannot be asked (host node-2 did not answer over SSH)",
    ]
    BareMetal().remove_strays("f-000000", hosts, FakeRun())
    assert cleared == [["node-0"]]
    assert (machine.lease, second.lease) == (None, OTHER)


def test_no_machines_have_no_strays() -> None:
    assert BareMetal().list_things("f-000000", []) == []


@pytest.mark.parametrize(
    ("lease", "things"),
    [
        (OWN, 2),
        (None, 1),
        (OTHER, 0),
        ({"no": "lease"}, 0),
    ],
    ids=["its own", "nobody's", "another fleet's", "one that cannot be read"],
)
def test_only_a_machine_that_no_other_fleet_holds_is_cleared(
    lease: dict[str, Any] | None,
    things: int,
    machine: Machine,
    cleared: list[list[str]],
) -> None:
    machine.fleets = ["f-000000"]
    if lease:
        machine.write(lease)
    hosts = [contact(claim())]
    assert len(BareMetal().list_things("f-000000", hosts)) == things
    BareMetal().remove_strays("f-000000", hosts, FakeRun())
    assert (cleared, machine.lease) == (([["node-0"]], None) if things else ([], lease))

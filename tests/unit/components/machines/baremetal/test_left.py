"""Machines that leave the list: the fleet's record keeps those that cannot be given back then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from components import fleet_inventory
from components.fleet_inventory import Inventory, InventoryInputs, InventoryOutputs
from components.hosts import playbook
from components.hosts.record import Contact
from components.machines.baremetal.host import Host
from components.plugin import wire
from stacks.errors import Refusal
from tests.factories.baremetal import claim
from tests.factories.hosts import KEY2
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from components.machines.baremetal.host import HostInputs, HostOutputs
    from tests.factories.baremetal import Machine, World

SECOND = claim("node-1", "10.0.0.2", host_key=KEY2)
CALLED = "node-1 (10.0.0.2)"
SILENT = "it was silent when it left the list"
EMPTY = InventoryOutputs(incarnation="i1")


@pytest.fixture(autouse=True)
def cleared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the machines from which everything was taken back; nothing ever is on these."""
    taken: list[str] = []
    monkeypatch.setattr(playbook, "take_back", lambda _, hosts, __: taken.extend(each.name for each in hosts))
    monkeypatch.setattr(fleet_inventory, "SECOND_LOOK", 0.0)
    return taken


@pytest.fixture
def second(world: World, machine: Machine) -> Machine:
    """Lend the second of two machines, both of which the fleet has."""
    made = world.add(SECOND.address, time.time())
    for each in (claim(), SECOND):
        Host().create(each, FakeRun())
    assert machine.lease
    made.fleets = ["f-000000"]
    return made


def record(*claims: HostInputs) -> InventoryInputs:
    hosts = [Contact(**{name: getattr(each, name) for name in Contact.model_fields}) for each in claims]
    return InventoryInputs(fleet="f-000000", provider="baremetal", hosts=hosts)


def shrunk(outputs: InventoryOutputs = EMPTY) -> InventoryOutputs:
    """Take the second machine out of the list."""
    made = Inventory().update(record(claim(), SECOND), record(claim()), outputs, FakeRun())
    return InventoryOutputs.model_validate(wire.plain(wire.fields_of(made)))  # as the state keeps it


def look(outputs: InventoryOutputs, *claims: HostInputs) -> Any:
    seen = Inventory().read(record(*(claims or [claim()])), outputs, FakeRun())
    return seen.outputs, {name: found["lease"] for name, found in seen.drift.items()}


def made(inputs: HostInputs) -> HostOutputs:
    return Host().create(inputs, FakeRun())


def test_a_silent_machine_that_leaves_is_told_by_name_and_given_back_by_a_later_run(
    second: Machine, cleared: list[str]
) -> None:
    outputs = made(SECOND)
    second.answers = False
    left = shrunk()
    run = FakeRun()
    Host().delete(SECOND, outputs, run)
    [told] = run.said
    assert told == (
        f"{CALLED} may keep the lease /var/lib/rackstack-lease of fleet f-000000, and the next `up` or "
        "`destroy` gives it back if it answers then; where it went silent only during this one, remove "
        "that file there: host node-1 did not answer over SSH"
    )
    left, drift = look(left)
    assert ([each.name for each in left.left], drift) == (["node-1"], {})

    second.answers = True
    left, drift = look(left)
    assert drift == {CALLED: f"{SILENT}, and is held still: `up` gives it back"}
    run = FakeRun()
    left = Inventory().update(record(claim()), record(claim()), left, run)
    assert run.said == [f"given back, after they had left the list: {CALLED}"]
    assert (second.lease, cleared, left) == (None, ["node-1"], EMPTY)
    second.fleets = []
    assert look(left) == (EMPTY, {})


def test_destroy_names_a_silent_machine_that_left_and_gives_it_back_when_it_answers(
    second: Machine, machine: Machine
) -> None:
    second.answers = False
    left = shrunk()
    Host().delete(claim(), made(claim()), FakeRun())
    with pytest.raises(Refusal, match=r"still has: maybe the lease of node-1 .*, which cannot be asked"):
        Inventory().delete(record(claim()), left, FakeRun())
    second.answers = True
    second.fleets = []
    Inventory().delete(record(claim()), left, FakeRun())
    assert (machine.lease, second.lease) == (None, None)


def test_a_machine_that_answers_when_it_leaves_is_given_back_by_its_own_resource(
    second: Machine, cleared: list[str]
) -> None:
    assert shrunk() == EMPTY
    assert second.lease
    assert cleared == []


def test_a_machine_that_somebody_gave_back_is_forgotten(second: Machine) -> None:
    second.answers = False
    left = shrunk()
    second.answers, second.fleets = True, []
    (second.folder / "lease").unlink()
    assert look(left) == (EMPTY, {})


def test_a_machine_that_is_listed_again_is_no_former_one(second: Machine, cleared: list[str]) -> None:
    second.answers = False
    left = shrunk()
    second.answers = True
    again = Inventory().update(record(claim()), record(claim(), SECOND), left, FakeRun())
    assert (again, cleared) == (EMPTY, [])


def test_a_machine_that_is_in_the_fleet_by_another_address_and_key_is_left_alone(
    world: World, second: Machine, cleared: list[str]
) -> None:
    other_way = claim("node-1", "10.0.1.2", host_key="ssh-rsa AAAA")
    world.machines["10.0.1.2"] = second
    second.answers = False
    left = Inventory().update(record(claim(), SECOND), record(claim(), other_way), EMPTY, FakeRun())
    second.answers = True
    made(other_way)
    assert look(left, claim(), other_way) == (EMPTY, {})
    assert Inventory().update(record(other_way), record(other_way), left, FakeRun()) == EMPTY
    assert cleared == []
    assert second.lease


def test_nothing_is_taken_from_a_machine_that_may_be_a_silent_member(
    world: World, machine: Machine, second: Machine, cleared: list[str]
) -> None:
    del world
    second.answers = False
    left = shrunk()
    second.answers, machine.answers = True, False
    assert look(left)[0] == left
    assert Inventory().update(record(claim()), record(claim()), left, FakeRun()) == left
    assert cleared == []
    assert second.lease


def test_a_way_back_that_fails_holds_nothing_else_up(
    second: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Refusal("node-1: busy")

    second.answers = False
    left = shrunk()
    second.answers = True
    monkeypatch.setattr(playbook, "take_back", fail)
    run = FakeRun()
    assert Inventory().update(record(claim()), record(claim()), left, run) == left
    assert run.said == ["machines that left the list are not given back yet: node-1: busy"]


def test_a_machine_that_answers_when_it_leaves_is_no_silent_one_where_a_member_is(
    second: Machine, machine: Machine, cleared: list[str]
) -> None:
    machine.answers = False
    assert shrunk() == EMPTY
    machine.answers = True
    assert Inventory().update(record(claim()), record(claim()), EMPTY, FakeRun()) == EMPTY
    assert second.lease
    assert cleared == []


def test_two_machines_that_left_under_one_name_are_both_given_back_as_they_were(
    world: World, second: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[list[str]] = []
    monkeypatch.setattr(
        playbook, "take_back", lambda _, hosts, __: runs.append([host.address for host in hosts])
    )
    follower = claim("node-1", "10.0.0.3", host_key="ssh-rsa AAAA")
    third = world.add(follower.address, time.time())
    third.fleets = ["f-000000"]
    second.answers = False
    left = Inventory().update(record(claim(), SECOND), record(claim(), follower), EMPTY, FakeRun())
    made(follower)
    third.answers = False
    left = Inventory().update(record(claim(), follower), record(claim()), left, FakeRun())
    second.answers = third.answers = True
    assert Inventory().update(record(claim()), record(claim()), left, FakeRun()) == EMPTY
    assert runs == [["10.0.0.2"], ["10.0.0.3"]]
    assert (second.lease, third.lease) == (None, None)

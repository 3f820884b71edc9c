"""A machine is claimed, looked at, renewed and given back; the machines are stand-ins here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from components.hosts import playbook, ssh
from components.machines.baremetal.host import Host, HostOutputs
from stacks.errors import Incomplete, Refusal, Unreachable
from tests.factories.baremetal import ADDRESS, OTHER, claim
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from components.machines.baremetal.host import HostInputs
    from tests.factories.baremetal import Machine, World


def drift(inputs: HostInputs, outputs: HostOutputs) -> Any:
    seen = Host().read(inputs, outputs, FakeRun())
    return seen and seen.drift


def test_a_machine_is_claimed_adopted_and_given_back(machine: Machine) -> None:
    run = FakeRun()
    made = Host().create(claim(), run)
    assert run.said == [
        "node-0 (10.0.0.1) is claimed: x86_64, 2 processors, 4096 MiB of memory, no accelerator"
    ]
    assert (made.record.address, made.record.interface) == (ADDRESS, "eth0")
    assert made.record.incarnation == made.incarnation
    assert machine.lease
    assert machine.lease["fleet"] == "f-000000"
    assert "@" in machine.lease["owner"]
    assert Host().create(claim(), FakeRun()).incarnation == made.incarnation
    assert drift(claim(), made) == {}
    Host().delete(claim(), made, FakeRun())
    assert machine.lease is None
    assert Host().read(claim(), made, FakeRun()) is None
    Host().delete(claim(), made, FakeRun())


def test_everything_against_a_machine_is_said_at_once(machine: Machine) -> None:
    machine.write(OTHER)
    machine.facts |= {"arch": "aarch64", "memory_mib": 5}
    with pytest.raises(Refusal) as refused:
        Host().create(claim(), FakeRun())
    said = str(refused.value)
    assert said.startswith("node-0 (10.0.0.1): it is leased by fleet other-3fa2c1 of ann@ops since ")
    assert "it is aarch64" in said
    assert "its memory is 5 MiB" in said
    assert machine.lease == OTHER


def test_two_addresses_of_one_machine_are_refused(world: World, machine: Machine) -> None:
    world.machines["10.0.1.1"] = machine
    Host().create(claim(), FakeRun())
    with pytest.raises(Refusal, match=r"^node-1 \(10.0.1.1\): it is the machine that node-0 of this"):
        Host().create(claim("node-1", "10.0.1.1"), FakeRun())


def test_a_machine_is_taken_over_from_a_fleet_that_is_named_as_gone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared: list[tuple[str, str]] = []
    monkeypatch.setattr(playbook, "take_back", lambda fleet, hosts, _: cleared.append((fleet, hosts[0].name)))
    machine.write(OTHER)
    machine.fleets = ["other-3fa2c1"]
    run = FakeRun()
    made = Host().create(claim(take_over="other-3fa2c1"), run)
    assert run.said[0].startswith("node-0 (10.0.0.1) is claimed, from fleet other-3fa2c1: ")
    assert cleared == [("other-3fa2c1", "node-0")]
    assert machine.lease
    assert machine.lease["incarnation"] == made.incarnation != "i1"


def test_a_line_that_names_the_fleet_itself_takes_nothing_away(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared: list[str] = []
    monkeypatch.setattr(playbook, "take_back", lambda fleet, *_: cleared.append(fleet))
    own = claim(take_over="f-000000")
    machine.fleets = ["f-000000"]
    made = Host().create(own, FakeRun())
    assert drift(own, Host().update(own, own, made, FakeRun())) == {}
    assert cleared == []


def test_what_a_gone_fleet_left_and_does_not_go_leaves_the_claim_unwell(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Refusal("busy")

    monkeypatch.setattr(playbook, "take_back", fail)
    machine.write(OTHER)
    machine.fleets = ["other-3fa2c1"]
    over = claim(take_over="other-3fa2c1")
    with pytest.raises(Incomplete, match=r"what fleet other-3fa2c1 left does not go: busy") as unwell:
        Host().create(over, FakeRun())
    made = unwell.value.outputs
    assert isinstance(made, HostOutputs)
    assert machine.lease
    assert machine.lease["incarnation"] == made.incarnation
    assert drift(over, made) == {
        "node-0": {"take_over": "what fleet other-3fa2c1 set up there is not taken away yet"}
    }
    monkeypatch.setattr(playbook, "take_back", lambda *_: machine.fleets.clear())
    assert drift(over, Host().update(over, over, made, FakeRun())) == {}


def test_a_claim_that_somebody_else_was_quicker_with_is_refused(
    world: World, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*words: Any, **more: Any) -> ssh.Answer:
        answer = world.run(*words, **more)
        if machine.lease is None:
            machine.write(OTHER)
        return answer

    monkeypatch.setattr(ssh, "run", meanwhile)
    with pytest.raises(Refusal, match=r"fleet other-3fa2c1 of ann@ops took it just now"):
        Host().create(claim(), FakeRun())
    assert machine.lease == OTHER


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"lease": None}, None),
        ({"lease": OTHER}, None),
        ({"machine": "another"}, None),
        ({"on_bus": {"10de": 3}, "vendor": "nvidia"}, "it has 3 GPUs on its PCI bus"),
        ({"clock": 0}, "its clock says 1970-01-01"),
    ],
    ids=["lease removed", "taken over", "disk moved", "a GPU gone", "clock off"],
)
def test_a_look_compares(machine: Machine, changed: dict[str, Any], words: str | None) -> None:
    made = Host().create(claim(), FakeRun())
    inputs = claim(vendor=changed.pop("vendor", "cpu"), gpus=4)
    if "lease" in changed:
        lease = changed.pop("lease")
        machine.write(lease) if lease else (machine.folder / "lease").unlink()
    machine.facts |= changed
    found = drift(inputs, made)
    if words is None:
        assert found is None
    else:
        assert [words in said for said in found.get("node-0", {}).values()] == ([True] if words else [])


def test_a_machine_that_is_silent_is_drift_and_not_waited_for(machine: Machine) -> None:
    made = Host().create(claim(), FakeRun())
    machine.answers = False
    assert drift(claim(), made) == {"node-0": {"machine": "host node-0 did not answer over SSH"}}
    with pytest.raises(Incomplete, match="did not answer"):
        Host().update(claim(), claim(), made, FakeRun())
    with pytest.raises(Unreachable):
        Host().create(claim(), FakeRun())
    run = FakeRun()
    Host().delete(claim(), made, run)
    assert [told.partition(", ")[0] for told in run.said] == [
        "node-0 (10.0.0.1) may keep the lease /var/lib/rackstack-lease of fleet f-000000"
    ]


def test_an_ending_lease_is_drift_and_renewed(machine: Machine) -> None:
    made = Host().create(claim(), FakeRun())
    assert machine.lease
    machine.write(machine.lease | {"until": "2020-01-01T00:00:00Z", "since": "2019-12-20T00:00:00Z"})
    assert drift(claim(), made) == {
        "node-0": {"lease": "its lease ends on 2020-01-01T00:00:00Z: `up` renews it"}
    }
    renewed = Host().update(claim(), claim(), made, FakeRun())
    assert renewed.incarnation == made.incarnation
    assert machine.lease["since"] == "2019-12-20T00:00:00Z"
    assert drift(claim(), renewed) == {}


def test_an_update_goes_on_with_the_new_way_to_a_machine(world: World, machine: Machine) -> None:
    made = Host().create(claim(), FakeRun())
    world.machines["10.0.1.1"] = machine
    moved = Host().update(claim(), claim(address="10.0.1.1"), made, FakeRun())
    assert (moved.record.address, moved.incarnation) == ("10.0.1.1", made.incarnation)
    assert "record" in Host().kept_by(frozenset({"take_over"}))
    assert "record" not in Host().kept_by(frozenset({"address"}))


def test_an_update_of_what_is_not_ours_any_more_is_refused(machine: Machine) -> None:
    made = Host().create(claim(), FakeRun())
    machine.write(OTHER)
    with pytest.raises(Incomplete, match="its lease is not ours any more"):
        Host().update(claim(), claim(), made, FakeRun())
    Host().delete(claim(), made, FakeRun())
    assert machine.lease == OTHER


@pytest.mark.parametrize(
    ("err", "words"),
    [
        ("sudo: a password is required", "it refuses root to ann (sudo: a password is required)"),
        ("Traceback\nOSError: no", "it could not be asked (status 1): OSError: no"),
    ],
)
def test_a_machine_that_answers_oddly_is_named(machine: Machine, err: str, words: str) -> None:
    machine.err = err
    with pytest.raises(Refusal) as refused:
        Host().create(claim(user="ann"), FakeRun())
    assert str(refused.value).startswith(f"node-0 (10.0.0.1): {words}")


def test_nothing_is_claimed_after_a_stop(machine: Machine) -> None:
    run = FakeRun()
    run.stop.set()
    with pytest.raises(Refusal, match="stopped before"):
        Host().create(claim(), run)
    assert machine.lease is None

"""What the kind does with what hosts and runs answer; both are stand-ins here, real ones in tests/lab."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from components.hosts import runs, ssh
from components.hosts.events import RunVerdict
from components.hosts.playbook import Playbook, PlaybookInputs, PlaybookOutputs
from stacks.errors import Incomplete, Refusal, Unreachable
from tests.factories.hosts import KEY2, host
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from components.hosts.record import HostRecord
    from components.hosts.runs import Order
    from components.plugin.kind import Run

OUTPUTS = PlaybookOutputs(incarnation="i", run="i.1", facts={})
GOOD = RunVerdict(began=True, failures=())


@dataclass
class World:
    """Hosts by name → what their marker says (None: they do not answer), and the runs that were ordered."""

    markers: dict[str, str | None]
    verdict: RunVerdict = GOOD
    orders: list[Order] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    tidied: list[str] = field(default_factory=list)

    def run(
        self, host: HostRecord, command: str, *, deadline: float, stdin: str = "", root: bool = True
    ) -> ssh.Answer:
        """Answer as a host."""
        del deadline
        if command.startswith("rmdir ~/.ansible/tmp ~/.ansible") and not root:
            self.tidied.append(host.name)
        self.asked.append(host.name)
        text = self.markers[host.name]
        if text is None:
            raise Unreachable(f"host {host.name} did not answer")
        if stdin:
            return ssh.Answer(0, f'{{"prepare": {{"marker": {text or "null"}, "now": {{}}}}}}', "")
        return ssh.Answer(0, text if "cat" in command else "", "")

    def carry_out(self, order: Order, run: Run) -> RunVerdict:
        """Remember a run."""
        del run
        self.orders.append(order)
        return self.verdict

    @property
    def ran(self) -> list[tuple[str, list[str]]]:
        """Return playbook and hosts of every run."""
        return [(order.path.name, [host.name for host in order.hosts]) for order in self.orders]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World({"a": "", "b": ""})
    monkeypatch.setattr(ssh, "run", world.run)
    monkeypatch.setattr(runs, "carry_out", world.carry_out)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/ssh")
    return world


def _inputs(*names: str, name: str = "serve", **host_variables: dict[str, object]) -> PlaybookInputs:
    return PlaybookInputs(
        fleet="f",
        playbook=name,
        hosts=[_host(each) for each in names or ("a", "b")],
        variables={"x": 1},
        host_variables=host_variables,
        secrets={},
        roles={},
        after=[],
    )


def _host(name: str, **changed: str) -> HostRecord:
    """Return the record of a machine of its own: at its address, with its key."""
    return host(name, **{"address": f"192.0.2.{ord(name)}", "host_key": f"ssh-ed25519 {name}"} | changed)


def _named(machine: HostRecord, name: str) -> HostRecord:
    return machine.model_copy(update={"name": name})


def _marker(run: str) -> str:
    return json.dumps({"run": run, "roles": {}})


def test_a_playbook_is_run_on_all_hosts_and_the_marker_carries_the_run(world: World) -> None:
    made = Playbook().create(_inputs(), FakeRun())
    assert world.ran == [("serve.yml", ["a", "b"])]
    assert world.orders[0].variables["marker_run"] == made.run
    assert made.run.startswith(f"{made.incarnation}.")


def test_what_the_roles_told_of_a_host_is_kept(world: World) -> None:
    world.markers = {"a": json.dumps({"run": "i.2", "roles": {}, "facts": {"read": 7}}), "b": ""}
    telling = _inputs().model_copy(update={"tells": True})
    assert Playbook().create(telling, FakeRun()).facts == {"a": {"read": 7}}
    assert sorted(world.asked) == ["a", "a", "b", "b"]


def test_nobody_is_asked_again_for_facts_that_nobody_uses(world: World) -> None:
    assert Playbook().create(_inputs(), FakeRun()).facts == {}
    assert sorted(world.asked) == ["a", "b"]


def test_nothing_is_begun_while_a_host_does_not_answer(world: World) -> None:
    world.markers["b"] = None
    with pytest.raises(Refusal, match="host b did not answer"):
        Playbook().create(_inputs(), FakeRun())
    assert world.ran == []


def test_what_is_wrong_with_a_jump_host_is_said_once_of_all_behind_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(host: HostRecord, command: str, *, deadline: float) -> ssh.Answer:
        del command, deadline
        if host.name == "c":
            raise Unreachable("host c (root@10.0.0.4:22) did not answer over SSH: timed out")
        raise Unreachable(f"host {host.name}: jump host ops@gate:22 did not answer over SSH: timed out")

    monkeypatch.setattr(ssh, "run", run)
    with pytest.raises(Refusal) as refused:
        Playbook().create(_inputs("a", "b", "c"), FakeRun())
    assert str(refused.value) == (
        "hosts a, b: jump host ops@gate:22 did not answer over SSH: timed out; "
        "host c (root@10.0.0.4:22) did not answer over SSH: timed out"
    )
    assert world.ran == []


def test_nothing_is_begun_after_a_stop(world: World) -> None:
    run = FakeRun()
    run.stop.set()
    with pytest.raises(Refusal, match="run the command again"):
        Playbook().create(_inputs(), run)
    assert world.ran == []


def test_a_run_that_began_and_failed_is_kept(world: World) -> None:
    world.verdict = RunVerdict(began=True, failures=("a: no", "b: no"))
    with pytest.raises(Incomplete) as failed:
        Playbook().update(_inputs(), _inputs(), OUTPUTS, FakeRun())
    assert failed.value.reasons == ("a: no", "b: no")
    kept = failed.value.outputs
    assert isinstance(kept, PlaybookOutputs)
    assert (kept.incarnation, kept.run != OUTPUTS.run) == (OUTPUTS.incarnation, True)


def test_a_run_that_never_began_is_refused(world: World) -> None:
    world.verdict = RunVerdict(began=False, failures=("no such role",))
    with pytest.raises(Refusal, match="no such role"):
        Playbook().create(_inputs(), FakeRun())


def test_an_update_keeps_the_incarnation_and_has_a_run_of_its_own(world: World) -> None:
    made = Playbook().update(_inputs(), _inputs(), OUTPUTS, FakeRun())
    assert (made.incarnation, made.run != OUTPUTS.run) == ("i", True)
    assert world.ran == [("serve.yml", ["a", "b"])]


def test_hosts_that_leave_are_undone_first(world: World) -> None:
    world.markers["b"] = _marker("i.1")
    Playbook().update(_inputs("a", "b"), _inputs("a"), OUTPUTS, FakeRun())
    assert world.ran == [("serve.undo.yml", ["b"]), ("serve.yml", ["a"])]


@pytest.mark.parametrize(
    ("changed", "undone"),
    [
        ({"address": "192.0.2.9", "host_key": KEY2}, True),
        ({"address": "192.0.2.9"}, False),
        ({"host_key": KEY2}, False),
    ],
    ids=["another machine", "it has moved", "it was set up anew"],
)
def test_a_machine_whose_name_another_one_gets_is_undone_first(
    world: World, changed: dict[str, str], *, undone: bool
) -> None:
    world.markers["b"] = _marker("i.1")
    other = _inputs("a", "b").model_copy(update={"hosts": [_host("a"), _host("b", **changed)]})
    Playbook().update(_inputs("a", "b"), other, OUTPUTS, FakeRun())
    assert world.ran == [*([("serve.undo.yml", ["b"])] if undone else []), ("serve.yml", ["a", "b"])]
    assert world.orders[0].hosts[-1] == (_host("b") if undone else other.hosts[1])


def test_a_machine_that_is_in_the_fleet_under_another_name_does_not_leave_it(world: World) -> None:
    theirs = '\x1e{"fleet": "f", "owner": "me", "incarnation": "2"}'  # of the new claim
    world.markers = {"a": theirs, "b": theirs}
    a, b = _inputs("a", "b").hosts
    swapped = [each.model_copy(update={"incarnation": "2"}) for each in (_named(b, "a"), _named(a, "b"))]
    run = FakeRun()
    other = _inputs("a", "b").model_copy(update={"hosts": swapped})
    Playbook().update(_inputs("a", "b"), other, OUTPUTS, run)
    assert world.ran == [("serve.yml", ["a", "b"])]
    assert run.said == []


def test_a_host_that_leaves_and_does_not_answer_is_named_and_not_waited_for(world: World) -> None:
    world.markers["b"] = None
    run = FakeRun()
    Playbook().update(_inputs("a", "b"), _inputs("a"), OUTPUTS, run)
    assert world.ran == [("serve.yml", ["a"])]
    assert run.said == ["playbook serve was not undone there: host b did not answer"]


def test_delete_undoes_what_is_ours_or_half_made_and_leaves_the_rest(world: World) -> None:
    world.markers = {"a": _marker("i.0"), "b": _marker("j.1"), "c": "", "d": None}
    Playbook().delete(_inputs("a", "b", "c", "d"), OUTPUTS, FakeRun())
    assert world.ran == [("serve.undo.yml", ["a", "c"])]


def test_what_ansible_left_empty_goes_with_the_last_playbook(world: World) -> None:
    Playbook().delete(_inputs(), OUTPUTS, FakeRun())
    assert world.tidied == []
    Playbook().delete(_inputs(name="prepare"), OUTPUTS, FakeRun())
    assert sorted(world.tidied) == ["a", "b"]


def test_a_host_that_another_fleet_holds_by_now_is_left_alone(world: World) -> None:
    theirs = '\x1e{"fleet": "other", "owner": "ann@ops", "incarnation": "2"}'
    world.markers = {"a": theirs, "b": '\x1e{"fleet": "f", "owner": "me", "incarnation": "1"}'}
    run = FakeRun()
    Playbook().delete(_inputs("a", "b"), OUTPUTS, run)
    assert world.ran == [("serve.undo.yml", ["b"])]
    assert run.said == ["host a is left alone: fleet other of ann@ops holds it by now"]
    with pytest.raises(Refusal, match="host a is not ours any more, fleet other of ann@ops holds it"):
        Playbook().create(_inputs("a", "b"), FakeRun())


def test_a_way_back_that_fails_stays_in_state(world: World) -> None:
    world.verdict = RunVerdict(began=True, failures=("a: busy",))
    with pytest.raises(Refusal, match="a: busy"):
        Playbook().delete(_inputs(), OUTPUTS, FakeRun())


def test_a_look_reports_hosts_that_differ_or_do_not_answer(world: World) -> None:
    world.markers = {"a": _marker("i.1"), "b": "", "c": None}
    seen = Playbook().read(_inputs("a", "b", "c", name="prepare"), OUTPUTS, FakeRun())
    assert seen.outputs == OUTPUTS
    assert seen.drift == {
        "b": {"prepare": "no run has finished here"},
        "c": {"host": "host c did not answer"},
    }


def test_inputs_that_cannot_be_meant_are_refused() -> None:
    faults = Playbook().faults(_inputs("a", "a", name="dance", z={}))
    assert [fault.split(":")[0] for fault in faults] == ["playbook", "playbook", "hosts", "host_variables"]

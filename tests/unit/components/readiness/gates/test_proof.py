"""The collectives as a resource: hosts that functions play."""

from __future__ import annotations

import json
import shlex
import threading
from typing import TYPE_CHECKING, Any

import pytest

from components.hosts import ssh
from components.hosts.markers import UNIT
from components.readiness.gates import trial
from components.readiness.gates.collectives import COLLECTIVES
from components.readiness.gates.proof import Collectives, CollectivesInputs, CollectivesOutputs
from components.readiness.gates.trial import Exchange, Member
from stacks.errors import Incomplete, Refusal, Unreachable
from tests.factories.hosts import host
from tests.factories.run import FakeRun
from tests.factories.sights import wants

if TYPE_CHECKING:
    from components.hosts.record import HostRecord

WANTS = wants("nvlink")
HOSTS = [host(name, address=address) for name, address in WANTS.addresses.items()]
MEMBERS = [
    Member(host=each.name, first=index * 4, local=4, environment={"GLOO_SOCKET_IFNAME": "eth0"})
    for index, each in enumerate(HOSTS)
]
EXCHANGE = Exchange(
    engine="serve",
    backend="nccl",
    python="/opt/engine/bin/python",
    address="10.0.0.1",
    port=29501,
    members=MEMBERS,
)
INPUTS = CollectivesInputs(
    fleet="f",
    hosts=HOSTS,
    wants=WANTS,
    exchanges=[EXCHANGE],
    seen={"tray-0": {"boot": "one"}, "tray-1": {"boot": "two"}},
    after=["1"],
)
LOG = (
    "a:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 1\n"
    "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/MNNVL"
)


class Hosts:
    """Plays hosts: how fast they are, on which of them ranks run, and who is silent."""

    def __init__(self) -> None:
        self.busbw = 800.0
        self.held: set[str] = set()
        self.silent: set[str] = set()
        self.failing: set[str] = set()
        self.waiting: set[str] = set()
        self.stopped: set[str] = set()
        self.ended: set[str] = set()
        self.stuck: set[str] = set()
        self.refused: set[str] = set()
        self.over = threading.Event()
        self.commands: list[list[str]] = []

    def run(self, record: HostRecord, command: str, *, deadline: float, stdin: str) -> ssh.Answer:
        """Answer as the host does."""
        assert deadline > 0
        if "is-active" in command:
            if record.name in self.silent:
                raise Unreachable(f"host {record.name} did not answer over SSH")
            if record.name in self.refused:
                return ssh.Answer(1, "", "sudo: a password is required")
            return ssh.Answer(0 if record.name in self.held else 3, "", "")
        if command.startswith(f"systemctl stop {UNIT} && "):
            self.held -= {record.name} - self.stuck
            self.ended.add(record.name)
            return ssh.Answer(int(record.name in self.stuck), "", "")
        if command.startswith("systemctl stop") and "systemd-run" not in command:
            self.stopped.add(record.name)
            self.over.set()
            return ssh.Answer(0, "", "")
        assert "def take_part" in stdin
        assert not self.held
        if record.name in self.waiting:
            assert self.over.wait(30)
            return ssh.Answer(1, "", "")
        if record.name in self.silent:
            raise Unreachable(f"host {record.name} did not answer over SSH")
        self.commands.append(shlex.split(command.partition("; ")[2]))
        figure = {"size": 8, "busbw": self.busbw, "wrong": 0}
        measured = [{"collective": name, **figure} for name in COLLECTIVES]
        head = record.name == "tray-0"
        told: dict[str, Any] = {
            "code": int(record.name in self.failing),
            "log": LOG if head else "",
            "measured": measured * head,
            "error": "RuntimeError: no GPU" if record.name in self.failing else "",
        }
        return ssh.Answer(0, json.dumps(told), "")


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    hosts = Hosts()
    monkeypatch.setattr(ssh, "run", hosts.run)
    return hosts


def _speeds(busbw: float) -> dict[str, dict[str, float]]:
    return {"serve": dict.fromkeys(COLLECTIVES, busbw)}


def _proved() -> CollectivesOutputs:
    return Collectives().create(INPUTS, FakeRun())


def test_the_first_figures_are_the_baseline_and_every_host_knows_its_ranks(hosts: Hosts) -> None:
    proved = _proved()
    assert proved.baseline == proved.measured == _speeds(800.0)
    jobs = sorted((json.loads(words[-1]) for words in hosts.commands), key=lambda job: int(job["first"]))
    assert [(job["first"], job["local"], job["world"]) for job in jobs] == [(0, 4, 8), (4, 4, 8)]
    assert {"--setenv=GLOO_SOCKET_IFNAME=eth0", "--setenv=NCCL_DEBUG=INFO"} <= set(hosts.commands[0])
    assert hosts.commands[0][-3:-1] == ["/opt/engine/bin/python", "-"]


def test_what_is_slower_than_the_baseline_is_refused_and_stays_unproved(hosts: Hosts) -> None:
    proved = _proved()
    hosts.busbw = 790.0
    again = Collectives().update(INPUTS, INPUTS, proved, FakeRun())
    assert (again.baseline, again.measured) == (proved.baseline, _speeds(790.0))
    hosts.busbw = 700.0
    with pytest.raises(Incomplete, match=r"all_reduce has 700 GB/s at 8 bytes, wanted is 800 GB/s") as unwell:
        Collectives().update(INPUTS, INPUTS, again, FakeRun())
    assert isinstance(unwell.value.outputs, CollectivesOutputs)
    assert (unwell.value.outputs.baseline, unwell.value.outputs.measured) == (proved.baseline, {})


def test_other_ranks_have_a_baseline_of_their_own(hosts: Hosts) -> None:
    proved = _proved()
    hosts.busbw = 100.0
    members = [each.model_copy(update={"first": index * 2, "local": 2}) for index, each in enumerate(MEMBERS)]
    old = INPUTS.model_copy(update={"exchanges": [EXCHANGE.model_copy(update={"members": members})]})
    assert Collectives().update(old, INPUTS, proved, FakeRun()).baseline == _speeds(100.0)


def test_ranks_that_run_everywhere_as_they_were_proved_are_left_alone(hosts: Hosts) -> None:
    proved = _proved()
    hosts.held, hosts.busbw = {"tray-0", "tray-1"}, 1.0
    hosts.commands.clear()
    run = FakeRun()
    again = INPUTS.model_copy(update={"after": ["2"]})
    assert Collectives().update(INPUTS, again, proved, run) == proved
    assert (hosts.commands, hosts.ended) == ([], set())
    said = "ranks of this fleet run on tray-0, tray-1 and hold the GPUs, so collectives are not run now; "
    assert run.said == [f"{said}what was measured before stands"]


def test_ranks_that_have_lost_their_peers_are_ended_and_all_is_proved_again(hosts: Hosts) -> None:
    proved = _proved()
    hosts.held, hosts.busbw = {"tray-0"}, 790.0
    run = FakeRun()
    assert Collectives().update(INPUTS, INPUTS, proved, run).measured == _speeds(790.0)
    assert hosts.ended == {"tray-0"}
    assert run.said[0] == (
        "ranks of this fleet run on tray-0 and not on tray-1, and no proof is of those: they are ended, "
        "the collectives are run, then all ranks start together"
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"hosts": [HOSTS[0], HOSTS[1].model_copy(update={"incarnation": "another"})]},
        {"seen": {"tray-0": {"boot": "one"}, "tray-1": {"boot": "three"}}},
        {"exchanges": [EXCHANGE.model_copy(update={"python": "/opt/other/bin/python"})]},
    ],
    ids=["another machine", "a reboot", "another engine"],
)
def test_a_proof_of_other_machines_boots_or_engines_is_none_of_ranks_that_run_everywhere(
    hosts: Hosts, changed: dict[str, Any]
) -> None:
    proved = _proved()
    hosts.held, hosts.busbw = {"tray-0", "tray-1"}, 790.0
    new = INPUTS.model_copy(update=changed)
    run = FakeRun()
    again = Collectives().update(INPUTS, new, proved, run)
    assert (again.baseline, again.measured) == (proved.baseline, _speeds(790.0))
    assert hosts.ended == {"tray-0", "tray-1"}
    assert "run on tray-0, tray-1 as they were started before, and no proof is of those" in run.said[0]


def test_another_machine_is_held_to_what_the_one_before_it_reached(hosts: Hosts) -> None:
    proved = _proved()
    hosts.busbw = 700.0
    machines = [HOSTS[0], HOSTS[1].model_copy(update={"incarnation": "another"})]
    with pytest.raises(Incomplete, match=r"all_reduce has 700 GB/s at 8 bytes, wanted is 800 GB/s"):
        Collectives().update(INPUTS, INPUTS.model_copy(update={"hosts": machines}), proved, FakeRun())


def test_a_rank_that_does_not_end_is_named_and_nothing_is_measured_beside_it(hosts: Hosts) -> None:
    proved = _proved()
    hosts.held = hosts.stuck = {"tray-0"}
    hosts.commands.clear()
    with pytest.raises(Incomplete, match=rf"^{UNIT} does not end on tray-0: see `systemctl status") as unwell:
        Collectives().update(INPUTS, INPUTS, proved, FakeRun())
    assert isinstance(unwell.value.outputs, CollectivesOutputs)
    assert (unwell.value.outputs.measured, hosts.commands) == ({}, [])


def test_a_host_that_does_not_say_whether_ranks_run_leaves_the_proof(hosts: Hosts) -> None:
    proved = _proved()
    hosts.silent = {"tray-1"}
    with pytest.raises(Refusal, match=r"^tray-1: host tray-1 did not answer over SSH$"):
        Collectives().update(INPUTS, INPUTS, proved, FakeRun())


def test_a_host_that_cannot_say_whether_ranks_run_is_none_without_them(hosts: Hosts) -> None:
    hosts.refused = {"tray-1"}
    with pytest.raises(Refusal, match=r"^tray-1: whether its rank runs is unknown: .* says sudo: a password"):
        Collectives().create(INPUTS, FakeRun())
    assert hosts.commands == []


def test_a_host_that_is_silent_is_named(hosts: Hosts) -> None:
    hosts.silent = {"tray-1"}
    with pytest.raises(Refusal, match=r"^tray-1: host tray-1 did not answer over SSH$"):
        _proved()


def test_where_ranks_fail_those_that_wait_for_them_are_ended_and_blamed_for_nothing(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "GRACE_SECONDS", 0.0)
    hosts.failing, hosts.waiting = {"tray-1"}, {"tray-0"}
    with pytest.raises(
        Refusal, match=r"^tray-1: a rank ended with exit status 1: RuntimeError: no GPU, "
    ) as ended:
        _proved()
    assert len(str(ended.value).splitlines()) == 1
    assert hosts.stopped == {"tray-0", "tray-1"}


def test_ctrl_c_leaves_no_rank(hosts: Hosts) -> None:
    hosts.waiting = {"tray-0", "tray-1"}
    run = FakeRun()

    def stop_when_all_wait(message: str) -> None:
        assert "8 ranks of serve exchange data by nccl" in message
        run.stop.set()

    run.progress = stop_when_all_wait  # type: ignore[method-assign] # plays the moment of the key
    with pytest.raises(Refusal, match=r"^the collectives were interrupted; run `pulumi up` again$"):
        Collectives().create(INPUTS, run)
    assert hosts.stopped == {"tray-0", "tray-1"}


def test_ctrl_c_before_hosts_say_who_runs_there_is_none_of_their_faults(hosts: Hosts) -> None:
    run = FakeRun()
    run.stop.set()
    with pytest.raises(Refusal, match=r"^the collectives were interrupted; run `pulumi up` again$"):
        Collectives().create(INPUTS, run)
    assert hosts.commands == []


def test_ranks_that_run_before_anything_was_measured_are_no_proof(hosts: Hosts) -> None:
    proved = _proved()
    hosts.held = {"tray-0", "tray-1"}
    said = (
        "ranks of this fleet run on tray-0, tray-1 and hold the GPUs, and nothing measured of them "
        f"holds: end them (`systemctl stop {UNIT}` there), then run `pulumi up` again"
    )
    with pytest.raises(Refusal) as refused:
        _proved()
    assert str(refused.value) == said
    with pytest.raises(Incomplete) as unwell:
        Collectives().update(INPUTS, INPUTS, proved.model_copy(update={"measured": {}}), FakeRun())
    assert (str(unwell.value), hosts.ended) == (said, set())


def test_ranks_that_run_on_some_hosts_before_anything_was_measured_are_ended(hosts: Hosts) -> None:
    hosts.held = {"tray-1"}
    assert _proved().baseline == _speeds(800.0)
    assert hosts.ended == {"tray-1"}


def test_an_engine_of_one_rank_has_nobody_to_reach(hosts: Hosts) -> None:
    proved = Collectives().create(INPUTS.model_copy(update={"exchanges": []}), FakeRun())
    assert (proved.baseline, hosts.commands) == ({}, [])


def test_ranks_are_given_what_the_unit_of_a_rank_is_given(hosts: Hosts) -> None:
    _proved()
    given = {word.removeprefix("--property=") for word in hosts.commands[0] if word.startswith("--property=")}
    unit = trial.RANK_UNIT.read_text().splitlines()
    same = {"User=rackstack", "LimitMEMLOCK=infinity", "RemoveIPC=yes", "CapabilityBoundingSet="}
    assert same <= given & set(unit)
    assert given - set(unit) == {"RuntimeMaxSec=885"}
    assert not {each for each in given if "{" in each or each.startswith(("Type=", "ExecStart="))}


def test_a_look_asks_nobody_and_the_end_leaves_everything(hosts: Hosts) -> None:
    proved = _proved()
    hosts.commands.clear()
    assert Collectives().read(INPUTS, proved, FakeRun()).drift == {}
    Collectives().delete(INPUTS, proved, FakeRun())
    assert hosts.commands == []

"""The gates as a resource: hosts that functions play."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from components.hosts import ssh
from components.readiness.gates.kind import Gates, GatesInputs, GatesOutputs
from stacks.errors import Incomplete, Refusal, Unreachable
from tests.factories.hosts import host
from tests.factories.run import FakeRun
from tests.factories.sights import sights, wants

if TYPE_CHECKING:
    from components.hosts.record import HostRecord

WANTS = wants("nvlink")
HOSTS = [host(name, address=address) for name, address in WANTS.addresses.items()]
INPUTS = GatesInputs(fleet="f", hosts=HOSTS, wants=WANTS, after=["1"])
BOOT = {"boot": "one", "driver": "NVRM 580", "channel": "234 0", "ports": ""}


class Hosts:
    """Plays hosts: what differs in a look, what a peek shows, and who is silent."""

    def __init__(self) -> None:
        self.changes: dict[str, Any] = {}
        self.shows: dict[str, dict[str, str]] = {}
        self.silent: set[str] = set()
        self.garbled: set[str] = set()

    def run(self, record: HostRecord, command: str, *, deadline: float, stdin: str) -> ssh.Answer:
        """Answer as the program does."""
        assert deadline > 0
        assert "def main" in stdin
        if record.name in self.silent:
            raise Unreachable(f"host {record.name} did not answer over SSH")
        if record.name in self.garbled:
            return ssh.Answer(127, "", "sh: /usr/bin/python3: not found\n")
        shown = sights(WANTS, self.changes)[record.name].model_dump()
        if " peek" in command:
            shows = BOOT | self.shows.get(record.name, {})
            return ssh.Answer(0, json.dumps({"clock": shown["clock"], "shows": shows}), "")
        kept = {
            name: value
            for name, value in shown.items()
            if name not in {"shows", "clock", "asked", "answered"}
        }
        return ssh.Answer(0, json.dumps(kept), "")


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    hosts = Hosts()
    monkeypatch.setattr(ssh, "run", hosts.run)
    return hosts


def _passed() -> GatesOutputs:
    return Gates().create(INPUTS, FakeRun())


def test_what_follows_for_the_ranks_is_an_output(hosts: Hosts) -> None:
    hosts.changes = {"tray-1": {"route": {"dev": "ens1"}}}
    passed = _passed()
    assert passed.environment["tray-1"] == {"GLOO_SOCKET_IFNAME": "ens1", "NCCL_SOCKET_IFNAME": "=ens1"}
    assert passed.shown == dict.fromkeys(WANTS.hosts, BOOT)
    assert Gates().read(INPUTS, passed, FakeRun()).drift == {}


def test_every_refusal_of_every_host_is_told_at_once(hosts: Hosts) -> None:
    hosts.changes = {"tray-0": {"nvlink": {0: {4: "<inactive>"}}}, "tray-1": {"smi": {"gpus": 3}}}
    with pytest.raises(Refusal) as refused:
        _passed()
    first, second = str(refused.value).splitlines()
    assert first.startswith("tray-1: the driver sees 3 GPUs, wanted is 4; likely, in this order: (1) ")
    assert second.startswith("tray-0: GPU 0 has the inactive NVLinks 4, wanted is ")


def test_a_host_that_is_silent_or_has_no_python_is_named_beside_what_the_others_show(hosts: Hosts) -> None:
    hosts.silent = {"tray-0"}
    hosts.changes = {"tray-1": {"smi": {"gpus": 3}}}
    with pytest.raises(
        Refusal, match=r"^tray-0: host tray-0 did not answer over SSH\ntray-1: the driver sees 3 GPUs"
    ):
        _passed()
    hosts.silent, hosts.garbled, hosts.changes = set(), {"tray-1"}, {}
    with pytest.raises(
        Refusal, match=r"^tray-1: host tray-1 could not be looked at: sh: /usr/bin/python3: not found"
    ):
        _passed()


def test_a_reboot_a_driver_and_silence_are_drift(hosts: Hosts) -> None:
    passed = _passed()
    hosts.shows = {"tray-0": {"boot": "two", "channel": ""}}
    hosts.silent = {"tray-1"}
    assert Gates().read(INPUTS, passed, FakeRun()).drift == {
        "tray-0": {"gates": "boot is two, it was one; channel is nothing, it was 234 0"},
        "tray-1": {"host": "host tray-1 did not answer over SSH"},
    }


def test_gates_that_are_not_passed_again_stay_unwell(hosts: Hosts) -> None:
    passed = _passed()
    hosts.changes = {"all": {"smi": {"driver": "470.1"}}}
    with pytest.raises(Incomplete) as unwell:
        Gates().update(INPUTS, INPUTS, passed, FakeRun())
    assert isinstance(unwell.value.outputs, GatesOutputs)
    assert unwell.value.outputs.incarnation == passed.incarnation
    hosts.changes = {}
    assert Gates().read(INPUTS, unwell.value.outputs, FakeRun()).drift
    assert Gates().update(INPUTS, INPUTS, passed, FakeRun()).incarnation == passed.incarnation


def test_ctrl_c_ends_it_with_one_sentence(hosts: Hosts) -> None:
    del hosts
    run = FakeRun()
    run.stop.set()
    with pytest.raises(Refusal, match=r"^the gates were interrupted; run `pulumi up` again$"):
        Gates().create(INPUTS, run)

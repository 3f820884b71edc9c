"""Locks and steps that killed runs leave on hosts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from components import processes
from components.fleet_name import fleet_id
from components.hosts import ssh
from lifecycle import on_hosts
from lifecycle.environment import CHECKOUT
from lifecycle.recover import recover
from stacks.errors import Unreachable
from tests.factories.hosts import host, jump

if TYPE_CHECKING:
    from components.hosts.record import HostRecord
    from tests.unit.lifecycle.conftest import Written

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
MACHINE = os.uname().nodename
GONE = f"{MACHINE}/{BOOT}/999999999/1"
ELSEWHERE = "laptop/b/812/1"


def _own() -> str:
    own = processes.stat(os.getpid())
    assert own is not None
    return f"{MACHINE}/{BOOT}/{os.getpid()}/{own.born}"


class Hosts:
    """Answers for every host and remembers the commands."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, controller: str, units: str = "", held: str = ""
    ) -> None:
        self.commands: list[str] = []
        self._held = held
        self._look = json.dumps({"name": "engine", "owner": "i.r", "controller": controller})
        self._units = units
        monkeypatch.setattr(ssh, "run", self._run)

    def _run(self, record: HostRecord, command: str, *, deadline: float, stdin: str = "") -> ssh.Answer:
        del deadline, stdin
        if record.name == "dark":
            raise Unreachable("host dark did not answer over SSH: timed out; see that it runs")
        self.commands.append(command)
        if "systemctl stop" in command:
            return ssh.Answer(0, self._held, "")
        return ssh.Answer(0, f"{self._look}\x1e{self._units}\n", "")


def test_the_lock_of_an_ended_run_is_released_and_its_step_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = Hosts(monkeypatch, GONE, "rackstack-engine-install.service\nrackstack-rank.service")
    assert on_hosts.release("lab-1", [host("a")]) == [
        f"host a: released the lock of engine, whose run has ended (process 999999999 on {MACHINE})",
        "host a: stopped rackstack-engine-install.service, which nobody waits for",
    ]
    assert "release lab-1 engine i.r" in hosts.commands[1]
    assert "systemctl stop rackstack-engine-install.service;" in hosts.commands[2]
    assert not any("rackstack-rank" in command for command in hosts.commands[1:])


def test_a_step_whose_lock_somebody_holds_is_left_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "/run/lock/rackstack/lab-2/engine.json"
    Hosts(monkeypatch, GONE, "rackstack-engine-install.service", f"{file}\n")
    assert on_hosts.release("lab-1", [host("a")])[1] == (
        f"host a: left rackstack-engine-install.service to the run that holds {file}; "
        "remove that file if the run has ended"
    )


@pytest.mark.parametrize(
    ("lock", "stops"), [("", True), ("lab-2/engine", False), ("lab-1/engine", False), ("lab-2/serve", True)]
)
def test_a_host_stops_a_step_only_where_no_fleet_holds_its_lock(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lock: str, *, stops: bool
) -> None:
    hosts = Hosts(monkeypatch, GONE, "rackstack-engine-install.service")
    on_hosts.release("lab-1", [host("a")])
    if lock:
        (tmp_path / lock).parent.mkdir()
        (tmp_path / f"{lock}.json").touch()
    command = (
        hosts.commands[-1].replace("/run/lock/rackstack", str(tmp_path)).replace("; rm -f /run/", "; : ")
    )
    command = command.replace("systemctl", "echo systemctl")
    done = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)
    assert ("systemctl stop rackstack-engine-install.service" in done.stdout) is stops
    if not stops:
        assert done.stdout == f"{tmp_path}/{lock}.json\n"


def test_the_fleet_is_the_one_of_the_state_and_not_of_this_checkout(
    stack: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = _state({"fleet": "lab-other", "provider": "lab"})
    asked: list[str] = []
    monkeypatch.setattr(stack, "exists", lambda: True)
    monkeypatch.setattr(stack, "export", lambda: state)

    def release(fleet: str, hosts: object, *, owner_is_dead: bool) -> list[str]:
        del hosts, owner_is_dead
        asked.append(fleet)
        return []

    monkeypatch.setattr(on_hosts, "release", release)
    assert list(recover(stack)) == []
    state["deployment"]["resources"].clear()
    assert list(recover(stack)) == []
    assert asked == ["lab-other", fleet_id("lab", CHECKOUT)]


def test_of_an_inventory_that_was_replaced_the_new_one_counts() -> None:
    state = _state({"fleet": "old"}, {"fleet": "new"})
    state["deployment"]["resources"][0]["delete"] = True
    assert on_hosts.fleet_of(state) == "new"
    assert on_hosts.fleet_of({"deployment": {}}) is None


def _state(*inventories: dict[str, str]) -> dict[str, Any]:
    resources = [{"type": "rack:fleet:Inventory", "inputs": each} for each in inventories]
    return {"version": 3, "deployment": {"resources": resources}}


@pytest.mark.parametrize(
    ("controller", "why"),
    [(_own(), "which lives"), (ELSEWHERE, "which cannot be seen from here (`--owner-is-dead` if it ended)")],
    ids=["own", "elsewhere"],
)
def test_a_run_that_lives_or_may_live_keeps_its_lock_and_its_step(
    monkeypatch: pytest.MonkeyPatch, controller: str, why: str
) -> None:
    hosts = Hosts(monkeypatch, controller, "rackstack-engine-install.service")
    [line] = on_hosts.release("lab-1", [host("a")])
    assert line.endswith(why)
    assert len(hosts.commands) == 1


def test_a_run_of_another_machine_has_ended_if_a_person_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    Hosts(monkeypatch, ELSEWHERE)
    [line] = on_hosts.release("lab-1", [host("a")], owner_is_dead=True)
    assert line == "host a: released the lock of engine, whose run has ended (process 812 on laptop)"


def test_a_host_that_does_not_answer_is_named_and_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    Hosts(monkeypatch, GONE)
    lines = on_hosts.release("lab-1", [host("dark"), host("a")])
    assert lines[0] == "not looked at: host dark did not answer over SSH: timed out; see that it runs"
    assert len(lines) == 2


def test_hosts_are_found_in_machines_and_in_playbooks_once_each() -> None:
    records = [host("a").model_dump(exclude_none=True), host("b", jump=jump()).model_dump()]
    state = {"deployment": {"resources": [
        {"outputs": {"record": records[0]}},
        {"inputs": {"hosts": records}, "outputs": {}},
        {"type": "pulumi:pulumi:Stack"},
    ]}}  # fmt: skip
    assert [each.name for each in on_hosts.hosts_of(state)] == ["a", "b"]
    assert on_hosts.hosts_of(state)[1].jump == jump()
    assert on_hosts.hosts_of({"deployment": {}}) == []

"""Lab machines through their resource kinds, on this machine, without Pulumi.

The tests share one lab and run in the order of this file: each leaves the lab well, the last one removes it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from components.fleet_inventory import Inventory
from components.machines.lab import cgroups, links, names, root
from components.machines.lab.host import Host
from components.machines.lab.network import Network, NetworkInputs, NetworkOutputs
from components.machines.lab.origin import Origin, OriginInputs, OriginOutputs
from stacks.errors import Refusal
from tests.factories.machines import machine
from tests.factories.run import FakeRun
from tests.lab.outside import inventory_of, said, ssh, traces

if TYPE_CHECKING:
    from components.machines.lab.booted import MachineInputs, MachineOutputs

pytestmark = pytest.mark.lab

CHECKPOINT = bytes(range(256)) * 64


@dataclass(frozen=True)
class Lab:
    """A network, two hosts and an origin, as a state would hold them."""

    network: tuple[NetworkInputs, NetworkOutputs]
    hosts: tuple[tuple[MachineInputs, MachineOutputs], ...]
    origin: tuple[OriginInputs, OriginOutputs]


@pytest.fixture(scope="module")
def lab(fleet: str, image: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Make the machines, all at once as the engine does; about 6 s."""
    mirror = tmp_path_factory.mktemp("mirror")
    (mirror / "wheels").mkdir()
    (mirror / "wheels" / "thing-1.0+cpu-py3-none-any.whl").write_bytes(b"a wheel")
    (mirror / "checkpoints" / "model" / "1").mkdir(parents=True)
    (mirror / "checkpoints" / "model" / "1" / "weights").write_bytes(CHECKPOINT)
    asked = NetworkInputs(fleet=fleet)
    network = Network().create(asked, FakeRun())
    first, second = (machine(network, fleet, f"h{each}", each + 1, image) for each in (1, 2))
    origin = OriginInputs(
        **machine(network, fleet, "origin", 1, image).model_dump(),
        wheels=str(mirror / "wheels"),
        checkpoints=str(mirror / "checkpoints"),
    )
    with ThreadPoolExecutor() as pool:
        hosts = [pool.submit(Host().create, each, FakeRun()) for each in (first, second)]
        served = pool.submit(Origin().create, origin, FakeRun())
    made = ((first, hosts[0].result()), (second, hosts[1].result()))
    return Lab((asked, network), made, (origin, served.result()))


def test_a_host_answers_under_its_own_name_and_key_only(lab: Lab) -> None:
    (_, first), (_, second) = lab.hosts
    assert said(first.record, "hostname") == "h1"
    stranger = ssh(first.record, "true", host_key=second.record.host_key)
    assert stranger.returncode == 255
    assert "Host key verification failed" in stranger.stderr


def test_every_unit_of_a_host_comes_up(lab: Lab) -> None:
    for _, host in lab.hosts:
        assert said(host.record, "systemctl is-system-running --wait") == "running"


def test_hosts_reach_each_other_and_nothing_else(lab: Lab) -> None:
    (_, first), (_, second) = lab.hosts
    said(first.record, f"timeout 5 bash -c '</dev/tcp/{second.record.address}/22'")
    assert "default" not in said(first.record, "ip route")


def test_the_origin_lists_wheels_and_serves_ranges_of_checkpoints(lab: Lab) -> None:
    url = lab.origin[1].url
    listed = re.findall(rb'href="(thing[^"]*)"', _fetched(f"{url}/wheels/"))
    assert [unquote(each.decode()) for each in listed] == ["thing-1.0+cpu-py3-none-any.whl"]
    assert _fetched(f"{url}/wheels/{listed[0].decode()}") == b"a wheel"
    assert _fetched(f"{url}/checkpoints/model/1/weights") == CHECKPOINT
    assert _fetched(f"{url}/checkpoints/model/1/weights", "bytes=100-199") == CHECKPOINT[100:200]


def test_equally_named_units_of_two_hosts_are_apart(lab: Lab) -> None:
    (_, first), (_, second) = lab.hosts
    for host in (first, second):
        said(host.record, "systemd-run --unit=same sleep 600")
        assert said(host.record, "systemd-run --wait --pipe --quiet echo done") == "done"
    said(first.record, "systemctl stop same")
    assert said(second.record, "systemctl is-active same") == "active"
    assert said(second.record, "pgrep -fc 'sleep 60[0]'") == "1"
    assert ssh(first.record, "pgrep -f 'sleep 60[0]'").returncode == 1
    said(second.record, "systemctl stop same")


def test_memory_is_limited_and_the_limit_moves_on_a_runningmachine(lab: Lab) -> None:
    inputs, outputs = lab.hosts[0]
    assert _quota(inputs) == 1.0
    hungry = "python3 -c 'print(len(bytearray(300 << 20)))'"
    boot = said(outputs.record, "cat /proc/sys/kernel/random/boot_id")
    assert ssh(outputs.record, hungry).returncode != 0
    more = inputs.model_copy(update={"memory_mib": 1024})
    before = Host().read(more, outputs, FakeRun())
    assert before is not None
    assert before.drift["h1"]["memory"].endswith(f"not {1024 << 20}")
    assert Host().update(inputs, more, outputs, FakeRun()) == outputs
    assert said(outputs.record, hungry) == str(300 << 20)
    after = Host().read(more, outputs, FakeRun())
    assert after is not None
    assert after.drift == {}
    assert Host().update(more, inputs, outputs, FakeRun()) == outputs
    assert said(outputs.record, "cat /proc/sys/kernel/random/boot_id") == boot


def test_creating_again_adopts(lab: Lab) -> None:
    assert Network().create(lab.network[0], FakeRun()) == lab.network[1]
    assert Host().create(lab.hosts[1][0], FakeRun()) == lab.hosts[1][1]
    assert Origin().create(lab.origin[0], FakeRun()) == lab.origin[1]


def test_another_incarnation_is_not_deleted(lab: Lab) -> None:
    inputs, outputs = lab.hosts[0]
    Host().delete(inputs, outputs.model_copy(update={"incarnation": "another"}), FakeRun())
    network, made = lab.network
    Network().delete(network, made.model_copy(update={"incarnation": "another"}), FakeRun())
    assert Network().read(network, made, FakeRun()) is not None
    assert said(outputs.record, "hostname") == "h1"


def test_a_killed_machine_is_drift_and_starts_again_from_its_own_disk(lab: Lab) -> None:
    inputs, outputs = lab.hosts[0]
    said(outputs.record, "echo kept > /root/kept; sync")
    leader = int((root.machine_folder(inputs.fleet, inputs.name) / "leader").read_text())
    os.kill(leader, signal.SIGKILL)
    _wait_until_gone(leader)
    seen = Host().read(inputs, outputs, FakeRun())
    assert seen is not None
    assert seen.drift == {"h1": {"machine": "it is not running"}}
    assert Host().update(inputs, inputs, outputs, FakeRun()) == outputs
    assert said(outputs.record, "cat /root/kept") == "kept"
    mended = Host().read(inputs, outputs, FakeRun())
    assert mended is not None
    assert mended.drift == {}


def test_a_lost_bridge_is_drift_and_made_again(lab: Lab) -> None:
    (inputs, outputs), (host, made) = lab.network, lab.hosts[0]
    said(made.record, "touch /root/before; sync")
    links.remove(outputs.bridge)
    seen, cut_off = Network().read(inputs, outputs, FakeRun()), Host().read(host, made, FakeRun())
    assert seen is not None
    assert "bridge" in seen.drift["network"]
    assert cut_off is not None
    assert "is not on the bridge" in cut_off.drift["h1"]["machine"]
    Network().update(inputs, inputs, outputs, FakeRun())
    for each, was in lab.hosts:
        Host().update(each, each, was, FakeRun())
    Origin().update(lab.origin[0], lab.origin[0], lab.origin[1], FakeRun())
    assert said(made.record, "ls /root/before") == "/root/before"


def test_a_mirror_that_was_made_again_is_drift_until_the_origin_sees_it(lab: Lab) -> None:
    inputs, outputs = lab.origin
    wheels = Path(inputs.wheels)
    shutil.rmtree(wheels)
    wheels.mkdir()
    (wheels / "new").write_bytes(b"new")
    seen = Origin().read(inputs, outputs, FakeRun())
    assert seen is not None
    assert str(wheels) in seen.drift["origin"]["machine"]
    assert Origin().update(inputs, inputs, outputs, FakeRun()) == outputs
    assert _fetched(f"{outputs.url}/wheels/new") == b"new"


def test_two_fleets_live_side_by_side(lab: Lab, other_fleet: str, image: Path) -> None:
    network = Network().create(NetworkInputs(fleet=other_fleet), FakeRun())
    host = machine(network, other_fleet, "h1", 2, image)
    made = Host().create(host, FakeRun())
    assert network.subnet != lab.network[1].subnet
    assert said(made.record, "cat /etc/machine-id") != said(lab.hosts[0][1].record, "cat /etc/machine-id")
    crossing = f"timeout 2 bash -c '</dev/tcp/{lab.hosts[0][1].record.address}/22'"
    assert ssh(made.record, crossing).returncode != 0
    Host().delete(host, made, FakeRun())
    Host().delete(host, made, FakeRun())
    Network().delete(NetworkInputs(fleet=other_fleet), network, FakeRun())
    assert traces(other_fleet) == []
    assert said(lab.hosts[0][1].record, "hostname") == "h1"


def test_a_stopped_create_leaves_nothing_of_themachine(other_fleet: str, image: Path) -> None:
    network = Network().create(NetworkInputs(fleet=other_fleet), FakeRun())
    host = machine(network, other_fleet, "h1", 2, image)
    run = _StoppedWhenStarting()
    with pytest.raises(Refusal, match="stopped while it started"):
        Host().create(host, run)
    assert not any(names.machine(other_fleet, "h1") in line for line in traces(other_fleet))


@pytest.mark.parametrize("sign", ["upper", "leader"])
def test_a_create_that_was_killed_is_swept(other_fleet: str, image: Path, sign: str) -> None:
    network = Network().create(NetworkInputs(fleet=other_fleet), FakeRun())
    _create_and_kill(machine(network, other_fleet, "h1", 2, image), sign)
    Network().delete(NetworkInputs(fleet=other_fleet), network, FakeRun())
    assert traces(other_fleet)
    run = FakeRun()
    Inventory().delete(*inventory_of(other_fleet), run)
    assert traces(other_fleet) == []
    assert "removing what no state knows" in run.said[0]


def test_a_create_that_was_killed_is_taken_up_again_by_two_at_once(other_fleet: str, image: Path) -> None:
    network = Network().create(NetworkInputs(fleet=other_fleet), FakeRun())
    host = machine(network, other_fleet, "h1", 2, image)
    _create_and_kill(host, "leader")
    with ThreadPoolExecutor() as pool:
        first, second = (pool.submit(Host().create, host, FakeRun()) for _ in range(2))
    assert first.result() == second.result()
    assert said(first.result().record, "hostname") == "h1"


def test_deleting_everything_leaves_no_trace(lab: Lab, fleet: str) -> None:
    assert traces(fleet)
    for inputs, outputs in lab.hosts:
        Host().delete(inputs, outputs, FakeRun())
    Origin().delete(*lab.origin, FakeRun())
    Network().delete(*lab.network, FakeRun())
    assert traces(fleet) == []
    run = FakeRun()
    Inventory().delete(*inventory_of(fleet), run)
    assert run.said == []
    assert Host().read(*lab.hosts[0], FakeRun()) is None
    assert Network().read(*lab.network, FakeRun()) is None


class _StoppedWhenStarting(FakeRun):
    """A run whose engine asks to stop as soon as the machine starts."""

    def progress(self, message: str) -> None:
        """Ask to stop."""
        super().progress(message)
        self.stop.set()


_CREATE = """
import json, sys
from components.machines.lab.host import Host
from tests.factories.run import FakeRun
inputs = Host.inputs.model_validate(json.loads(sys.argv[1]))
Host().create(inputs, FakeRun())
"""


def _create_and_kill(host: MachineInputs, sign: str) -> None:
    """Create a host in a process that is killed as soon as something shows in the host's folder."""
    argv = [sys.executable, "-c", _CREATE, json.dumps(host.model_dump())]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as creating:
        while creating.poll() is None and not (root.machine_folder(host.fleet, host.name) / sign).exists():
            time.sleep(0.01)
        assert creating.poll() is None
        creating.kill()


def _fetched(url: str, byte_range: str | None = None) -> bytes:
    asked = urllib.request.Request(url, headers={"Range": byte_range} if byte_range else {})  # noqa: S310 -- our own origin
    with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 -- our own origin
        content: bytes = answer.read()
        return content


def _quota(host: MachineInputs) -> float:
    """Return the cores that the kernel grants a host."""
    for group in cgroups.find(names.machine(host.fleet, host.name)):
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()
            return int(quota) / int(period)
        if (group / "cpu.cfs_quota_us").exists():
            return int((group / "cpu.cfs_quota_us").read_text()) / 100_000
    return 0.0


def _wait_until_gone(pid: int) -> None:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)

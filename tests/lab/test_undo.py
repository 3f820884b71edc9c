"""The real playbooks where something goes on: it ends with the fleet, and no step ends well by luck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from components.hosts.playbook import Playbook, PlaybookInputs, PlaybookOutputs
from components.machines.lab.host import Host
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import Incomplete
from tests.factories import playbooks
from tests.factories.machines import machine
from tests.factories.run import FakeRun
from tests.lab.outside import said
from tests.lab.outside import ssh as try_ssh

if TYPE_CHECKING:
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("kept")]

RANK = """[Service]
User=rackstack
ExecStart=/bin/sleep 600
"""
OTHER = "/var/lib/rackstack/other-fleet"
OTHER_MARKER = f"{OTHER}/prepare.json"
SILENT_MIRROR = """import socket, time; s = socket.create_server(("127.0.0.1", 9)); time.sleep(300)"""
MEDDLER = """unit=rackstack-checkpoint-fetch
until systemctl --quiet is-active $unit; do sleep 0.2; done
sleep 1; systemctl stop $unit"""
LEFT = "systemctl list-units --all --no-legend 'rackstack-*'; find /run -maxdepth 1 -name 'rackstack-*'"
SHARED = "/opt/rackstack /var/lib/rackstack /var/cache/rackstack /etc/rackstack"


@pytest.fixture(scope="module")
def host(fleet: str, image: Path) -> HostRecord:
    """Boot one host, about 4 s."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    return Host().create(machine(network, fleet, "leaving", 2, image), FakeRun()).record


@pytest.fixture(scope="module")
def prepared(host: HostRecord, fleet: str) -> tuple[PlaybookInputs, PlaybookOutputs]:
    """Run the real `prepare`, about 9 s."""
    wanted = {"prepare_packages": ["g++"], "prepare_memory_mib": 128}
    inputs = playbooks.inputs([host], fleet, "prepare", wanted)
    return inputs, Playbook().create(inputs, FakeRun())


@pytest.mark.usefixtures("prepared")
def test_a_step_that_is_stopped_from_outside_has_not_done_its_work(host: HostRecord, fleet: str) -> None:
    said(host, f"systemd-run --unit=mirror python3 -c '{SILENT_MIRROR}'; systemd-run sh -c '{MEDDLER}'")
    fetch = {
        "checkpoint_home": "/var/lib/rackstack/checkpoints/some/1",
        "checkpoint_url": "http://127.0.0.1:9/",
        "checkpoint_files": [{"path": "config.json", "size": 2, "sha256": "0" * 64}],
    }
    with pytest.raises(Incomplete) as failed:
        Playbook().create(playbooks.inputs([host], fleet, "checkpoint", fetch), FakeRun())
    assert "rackstack-checkpoint-fetch.service was ended before" in failed.value.reasons[0]

    nothing = playbooks.inputs([host], fleet, "checkpoint", fetch | {"checkpoint_files": []})
    made = Playbook().create(nothing, FakeRun())
    assert said(host, LEFT) == ""
    assert Playbook().read(nothing, made, FakeRun()).drift == {}


def test_a_host_that_leaves_is_undone_although_everything_still_runs(
    host: HostRecord, fleet: str, prepared: tuple[PlaybookInputs, PlaybookOutputs]
) -> None:
    said(host, f"echo '{RANK}' >/etc/systemd/system/rackstack-rank.service; systemctl daemon-reload")
    said(host, "systemctl start rackstack-rank; systemd-run --unit=rackstack-engine-install sleep 600")

    said(host, f"mkdir {OTHER}; touch {OTHER_MARKER}")
    Playbook().delete(*prepared, FakeRun())
    assert said(host, "systemctl is-active rackstack-rank; id -un rackstack") == "active\nrackstack"
    assert said(host, f"ls -d {SHARED} {OTHER_MARKER}").split() == sorted([*SHARED.split(), OTHER_MARKER])
    assert said(host, f"ls /var/lib/rackstack | grep -c {fleet} || true") == "0"

    said(host, f"rm -r {OTHER}")
    Playbook().delete(*prepared, FakeRun())
    assert said(host, "ps -eo args | grep -c '[s]leep 600' || true") == "0"
    assert said(host, LEFT) == ""
    assert said(host, f"ls -d {SHARED} {OTHER} /etc/systemd/system/rackstack* 2>/dev/null || true") == ""
    assert try_ssh(host, "id rackstack").returncode != 0

    Playbook().delete(*prepared, FakeRun())

"""One of two machines is unreachable, before a stage or in the middle of it: who it was is said, and no more.

The tests share two emulated trays on which every stage is done, and each leaves both as they were. The other
tray has nothing to do in any of them, and nothing of it may change.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from pydantic import SecretStr

from components.hosts import ssh
from components.hosts.playbook import Playbook, PlaybookOutputs
from components.machines.lab import names, processes
from components.machines.lab.commands import call
from tests.factories import playbooks
from tests.factories.run import FakeRun
from tests.lab.emulated.packages import RELEASE, of_no_release, of_release
from tests.lab.emulated.rack import TRAY, Rack, trays
from tests.lab.faults.site import Moment, Site, on, refusal, settle
from tests.lab.test_drift import RANK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from components.hosts.playbook import PlaybookInputs
    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.long]

ENGINE: Final = "/opt/rackstack/engines/lost"
CHECKPOINT: Final = "/var/lib/rackstack/checkpoints/lost/1"
AWAY: Final = (
    "table inet away { chain input { type filter hook input priority -300; "
    "tcp dport 22 reject with tcp reset; }; }"
)
"""What makes a host unreachable from one packet to the next, connections that stand included."""
STAGES: Final = ("prepare", "engine", "checkpoint", "access", "serve")
# What is in the middle → the stage, what was done to the lost tray before, and when it is lost.
MIDDLE: Final = {
    "tuning": ("prepare", "rm /etc/sysctl.d/60-rackstack-tuning.conf", "tuning: "),
    "nvidia_driver": ("prepare", "systemctl stop nvidia-persistenced", "nvidia_driver: "),
    "packages": ("prepare", "apt-mark unhold nvidia-driver-580-open", "packages: bring the program"),
    "reboot": ("prepare", "true", "reboot: "),
    "limits": ("prepare", "rm /etc/security/limits.d/*rackstack*", "limits: "),
    "imex": ("prepare", "echo 192.0.2.1 >/etc/nvidia-imex/nodes_config.cfg", "imex: "),
    "settle": ("prepare", "systemctl stop nvidia-dcgm", "settle: write files"),
    "dcgm": ("prepare", "systemctl stop nvidia-dcgm", "dcgm: "),
    "firewall": ("access", "nft delete table inet rackstack", "firewall: "),
    "serve": ("serve", "true", "serve: "),
    # The last ones: all ranks start again after an engine or a checkpoint that is new anywhere.
    "engine": ("engine", f"rm {ENGINE}/.rackstack-complete", "step: wait until it ends"),
    "checkpoint": ("checkpoint", f"rm {CHECKPOINT}/.verified", "step: wait until it ends"),
}
MENDED: Final = "see that it runs and is reachable from here, then run the command again"
HALF_DONE: Final = (
    "dpkg --audit; systemctl list-units --failed --plain --no-legend; find /run/lock/rackstack -type f;"
    "systemctl list-units --plain --no-legend 'rackstack-*install*' 'rackstack-*fetch*' 'rackstack-packages*'"
)
STAMP: Final = "/run/stamp"
CHANGED: Final = (
    f"find /etc /opt /usr /boot /var/lib/rackstack /var/lib/dpkg -xdev -newercm {STAMP} ! -type d"
    " ! -path '/var/lib/rackstack/test-*'"  # markers say whose run it was
)
RUNNING: Final = (
    "systemctl show --property=Id,ActiveEnterTimestampMonotonic nvidia-persistenced nvidia-imex nvidia-dcgm"
    " rackstack-gateway rackstack-rank; nft --stateless list ruleset; sysctl kernel.numa_balancing"
)


@pytest.fixture(scope="module")
def rack(fleet: str, image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Boot two trays."""
    offered = (*of_release(RELEASE), *of_no_release())
    with trays(fleet, image, tmp_path_factory.mktemp("kept"), *offered) as made:
        yield made


@pytest.fixture(scope="module")
def stages(rack: Rack, tmp_path_factory: pytest.TempPathFactory) -> dict[str, PlaybookInputs]:
    """Go through every stage, about 90 s; return name → what it is run with."""
    site = Site(rack.fleet, rack.made, tmp_path_factory.mktemp("locks"))
    made = {
        "prepare": rack.inputs(TRAY),
        "engine": site.engine(rack.mirror, "lost"),
        "checkpoint": site.checkpoint(rack.mirror, "lost", {"config.json": b"{}"}),
        "access": playbooks.access(rack.hosts, rack.fleet, {}, sources=()),
        "serve": serve(rack),
    }
    for stage in STAGES:
        settle(made[stage])
    return made


@pytest.fixture
def idle(rack: Rack) -> Iterator[HostRecord]:
    """Return the tray that is there all the time; nothing may change on it."""
    host, _ = rack.hosts
    before = on(host, f"touch {STAMP}; sleep 0.02; {RUNNING}")
    yield host
    assert on(host, CHANGED) == ""
    assert on(host, RUNNING) == before


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_begins_nowhere_while_one_is_unreachable(
    stage: str, stages: dict[str, PlaybookInputs], rack: Rack, idle: HostRecord
) -> None:
    inputs, run, lost = stages[stage], FakeRun(), rack.hosts[1]
    with unreachable(rack):
        told = refusal(inputs, run)
        seen = Playbook().read(inputs, PlaybookOutputs(incarnation="any", run="any.any", facts={}), FakeRun())
    said = rf"host tray-1 \(root@{lost.address}:22\) did not answer over SSH: [^;]+; {MENDED}"
    assert re.fullmatch(said, told), told
    assert re.fullmatch(said, seen.drift["tray-1"]["host"])
    assert run.said == []
    assert on(idle, HALF_DONE) == ""
    again = FakeRun()
    settle(inputs, again)
    assert [told for told in again.said if re.search(r" [1-9]\d* changed", told)] == []


@pytest.mark.parametrize("middle", MIDDLE)
def test_who_is_lost_in_the_middle_is_named_and_the_next_run_goes_on(
    middle: str, stages: dict[str, PlaybookInputs], rack: Rack, idle: HostRecord
) -> None:
    stage, command, moment = MIDDLE[middle]
    inputs, lost = stages[stage], rack.hosts[1]
    on(lost, command)
    away = unreachable(rack)
    run = Moment(when=f"tray-1: {moment}", then=away.__enter__)
    try:
        told = refusal(inputs, run)
    finally:
        assert run.come, run.said
        away.__exit__(None, None, None)
    # Where a connection breaks under a copy, ssh may end without a word, and without the address.
    said = rf"tray-1: did not answer Ansible over SSH: [^;]*({lost.address}|gave no reason)[^;]*; {MENDED}"
    assert re.fullmatch(rf"{said}; what Ansible did can be read in \S+", told), told
    assert on(idle, HALF_DONE) == ""
    settle(inputs)


def serve(rack: Rack) -> PlaybookInputs:
    """Return the inputs of the real `serve`, with a process that listens where an engine would."""
    wanted = {"serve_engine_home": ENGINE, "serve_checkpoint_home": CHECKPOINT}
    own = {
        host.name: {
            "serve_rank": rank,
            "serve_argv": RANK,
            "serve_env": {},
            "serve_ports": [playbooks.ENGINE_PORT],
        }
        for rank, host in enumerate(rack.hosts)
    }
    secrets = {"serve_api_key": SecretStr("a-key-of-this-test")}
    inputs = playbooks.inputs(rack.hosts, rack.fleet, "serve", wanted)
    return inputs.model_copy(update={"host_variables": own, "secrets": secrets})


@contextmanager
def unreachable(rack: Rack) -> Iterator[None]:
    """Have the second tray refuse SSH for the time of the block; its own system goes on."""
    enter = ("nsenter", "--target", str(init(rack, "tray-1")), "--mount", "--net", "nft")
    call(*enter, AWAY)
    try:
        yield
    finally:
        call(*enter, "delete table inet away")
        ssh.close_all()


def init(rack: Rack, name: str) -> int:
    """Return the process of this machine that is the first one of a tray."""
    inside = processes.by_machine()[names.machine(rack.fleet, name)]
    [first] = [pid for pid in inside if re.search(r"^NSpid:.*\t1$", status(pid), re.MULTILINE)]
    return first


def status(pid: int) -> str:
    """Return what the kernel says of a process; nothing where it has gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/status").read_text()
    return ""

"""A host goes away in the middle of things: who it was is said, and the same command brings it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from components.hosts import ssh
from components.hosts.playbook import Playbook, PlaybookOutputs
from components.machines.lab.commands import call
from tests.factories import playbooks
from tests.factories.run import FakeRun
from tests.lab.faults.rows import row
from tests.lab.faults.site import Moment, on, refusal, settle, spoilt

if TYPE_CHECKING:
    from components.hosts.playbook import PlaybookInputs
    from tests.lab.faults.origin import Mirror
    from tests.lab.faults.site import Site

pytestmark = pytest.mark.lab

CONTENT = {"config.json": b"{}"}
KEY = "/etc/ssh/ssh_host_ed25519_key"


def _switched_off(site: Site, inputs: PlaybookInputs, moment: str) -> tuple[str, PlaybookOutputs]:
    """Switch the bad host off in a run; return what was said, and what the same run then made of it."""
    run = Moment(when=moment, then=site.cut_power)
    try:
        said = refusal(inputs, run)
        assert run.come, run.said
    finally:
        site.power_on()
        ssh.close_all()
    return said, settle(inputs)


@pytest.mark.long
def test_a_host_switched_off_at_prepare(site: Site) -> None:
    inputs = site.prepare(prepare_memory_mib=129)
    said, _ = _switched_off(site, inputs, f"{site.bad.name}: prepare: have the folders")
    row("off-prepare").holds(said, host=site.bad.name)


@pytest.mark.long
def test_a_host_switched_off_at_engine(site: Site, mirror: Mirror) -> None:
    said, _ = _switched_off(site, site.engine(mirror, "off"), f"{site.bad.name}: step: wait until it ends")
    row("off-engine").holds(said, host=site.bad.name)


def test_a_host_switched_off_at_checkpoint(site: Site, mirror: Mirror) -> None:
    inputs = site.checkpoint(mirror, "off", CONTENT)
    said, _ = _switched_off(site, inputs, f"{site.bad.name}: step: wait until it ends")
    row("off-checkpoint").holds(said, host=site.bad.name)


@pytest.mark.long
def test_a_host_switched_off_at_access(site: Site) -> None:
    inputs = playbooks.access(site.hosts, site.fleet, {}, sources=())
    said, made = _switched_off(site, inputs, f"{site.bad.name}: firewall: ")
    row("off-access").holds(said, host=site.bad.name)
    Playbook().delete(inputs, made, FakeRun())


@pytest.mark.long
def test_a_cut_network_that_heals(site: Site, mirror: Mirror) -> None:
    inputs = site.checkpoint(mirror, "unplugged", CONTENT)
    run = Moment(when=f"{site.bad.name}: step: wait until it ends", then=site.unplug)
    try:
        said = refusal(inputs, run)
        seen = Playbook().read(inputs, PlaybookOutputs(incarnation="any", run="any.any", facts={}), FakeRun())
        row("network-cut").holds(
            f"{said}; {seen.drift[site.bad.name]['host']}", host=site.bad.name, address=site.bad.address
        )
    finally:
        site.plug()
        ssh.close_all()
    settle(inputs)


@pytest.mark.long
def test_another_host_key(site: Site) -> None:
    ssh.close_all()
    away = f"mv {KEY} {KEY}.kept && ssh-keygen -q -t ed25519 -N '' -f {KEY} && systemctl restart ssh"
    key = on(site.bad, f"{away} && cat {KEY}.pub")
    stranger = site.bad.model_copy(update={"host_key": " ".join(key.split()[:2])})
    ssh.close_all()
    try:
        row("host-key").holds(refusal(site.prepare()), host=site.bad.name, address=site.bad.address)
    finally:
        on(stranger, f"mv {KEY}.kept {KEY} && systemctl restart ssh")
        ssh.close_all()
    settle(site.prepare())


@pytest.mark.long
def test_a_slow_host_is_waited_for(site: Site) -> None:
    slow = ["rate", "4mbit", "burst", "16kb", "latency", "400ms"]
    call("tc", "qdisc", "add", "dev", site.link, "root", "tbf", *slow)
    try:
        run = FakeRun()
        settle(site.prepare(), run)
    finally:
        call("tc", "qdisc", "del", "dev", site.link, "root")
    row("slow-host").holds("\n".join(run.said), host=site.bad.name)


@pytest.mark.long
def test_a_clock_that_is_hours_off(site: Site) -> None:
    """Hosts of a lab share this machine's clock, so Python on the bad one is made to read it wrong."""
    wrong = "import time; right = time.time; time.time = lambda: right() - 7200"
    file = "/etc/python3.11/sitecustomize.py"
    with spoilt(site.bad, f"cp {file} {file}.kept; echo '{wrong}' >>{file}", f"mv {file}.kept {file}"):
        row("clock").holds(refusal(site.prepare()), host=site.bad.name)
    settle(site.prepare())

"""Ranks that exchange data on a real host, without an engine: how they fail, and that none is left."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from components.hosts import ssh
from components.machines.lab.host import Host
from components.machines.lab.network import Network, NetworkInputs
from components.readiness.gates import trial
from stacks.errors import Refusal
from tests.factories.machines import machine
from tests.factories.run import FakeRun
from tests.lab.outside import said

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("kept")]

SLOW = "import time; time.sleep(300)"
"""A torch that never comes to an end."""
RUNS = f"timeout 30 sh -c 'until systemctl is-active --quiet {trial.UNIT}; do sleep 0.1; done'"
ENDS = (
    f"timeout 15 sh -c 'while systemctl list-units --all --plain | grep -q {trial.UNIT}; do sleep 0.1; done'"
)
LEFT = "systemctl list-units --all --no-legend 'rackstack-*'; ps -u rackstack -o args=; true"


@pytest.fixture(scope="module")
def host(fleet: str, image: Path) -> HostRecord:
    """Boot a host with the engine's user, about 6 s."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    record = Host().create(machine(network, fleet, "a", 2, image), FakeRun()).record
    said(record, f"useradd --system rackstack; mkdir /opt/slow; echo '{SLOW}' >/opt/slow/torch.py")
    return record


def _exchange(host: HostRecord, **environment: str) -> trial.Exchange:
    """Return what two ranks do with the host's own Python, which has no torch."""
    member = trial.Member(host=host.name, first=0, local=2, environment=environment)
    return trial.Exchange(
        engine="serve",
        backend="gloo",
        python="/usr/bin/python3",
        address=host.address,
        port=29501,
        members=[member],
    )


def test_a_rank_that_fails_says_why_from_within_a_ranks_unit(host: HostRecord) -> None:
    told = trial.run(_exchange(host), [host], 60, threading.Event())[host.name]
    assert isinstance(told, trial.Told), told
    assert (told.code, told.measured) == (1, [])
    assert told.error.endswith("No module named 'torch'")
    assert said(host, LEFT) == ""


def _interrupt(stop: threading.Event) -> None:
    stop.set()


def _kill(stop: threading.Event) -> None:
    del stop
    ssh.close_all()


@pytest.mark.parametrize("end", [_interrupt, _kill])
def test_whoever_waits_for_them_no_more_leaves_no_rank(
    host: HostRecord, end: Callable[[threading.Event], None]
) -> None:
    stop = threading.Event()
    exchange = _exchange(host, PYTHONPATH="/opt/slow")
    threading.Thread(target=trial.run, args=(exchange, [host], 40, stop), daemon=True).start()
    said(host, RUNS)
    end(stop)
    said(host, ENDS)
    assert said(host, LEFT) == ""


def test_a_rank_has_ended_when_no_process_of_it_is_left(host: HostRecord) -> None:
    starts = "systemd-run --quiet --collect --unit=rackstack-rank"
    said(host, f"{starts} sleep 60")
    trial.end([host], threading.Event())
    said(host, f"{starts} --property=KillMode=process sh -c 'sleep 61 & exec sleep 60'")
    said(host, "timeout 15 sh -c \"until pgrep -fx 'sleep 61'; do sleep 0.1; done\"")
    with pytest.raises(Refusal, match=r"^rackstack-rank.service does not end on a: see `systemctl status"):
        trial.end([host], threading.Event())
    said(host, "pkill -fx 'sleep 61'")
    assert said(host, LEFT) == ""

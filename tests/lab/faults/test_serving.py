"""The fleet serves, and something happens to its ranks: the story of one fleet ends here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.lab.faults.rows import row
from tests.lab.faults.served import HEAD, OTHER, UNIT
from tests.lab.outside import task_of, traces

if TYPE_CHECKING:
    from tests.lab.faults.served import Served

pytestmark = [pytest.mark.lab, pytest.mark.long]

STARTS = int(os.environ.get("RACKSTACK_STARTS", "3"))
"""Starts and stops in a row; twenty take a quarter of an hour."""
SMALL_DISK = "/var/cache/rackstack"
KILLED = "pkill -KILL --full '^VLLM::Worker'"
FROZEN = "pkill -STOP --full '^VLLM::Worker'"
HELD = """ss -Hltn | awk '{print "port", $4}' | grep -v -e ':22$' -e ':8443$'
ps -u rackstack -o args= | cut -c-60
ls /dev/shm
ipcs -m -s | grep '^0x' || true"""
"""Prints what a rank holds of its host."""
LISTENS = "until ss -Hltn sport = :8000 | grep -q .; do sleep 0.5; done"


def test_a_worker_that_is_killed_is_named_and_the_whole_group_comes_back(served: Served) -> None:
    before = served.invocations()
    served.on(OTHER, KILLED)
    served.on(OTHER, f"timeout 60 sh -c 'while systemctl --quiet is-active {UNIT}; do sleep 0.5; done'")
    row("worker-killed").holds(served.drift(), host=OTHER)
    _all_come_back(served, before)


def test_a_worker_that_is_frozen_is_named(served: Served) -> None:
    served.on(OTHER, FROZEN)
    row("worker-frozen").holds(served.drift(), host=OTHER)


def test_a_full_disk_is_named_before_any_rank_is_stopped_and_then_the_whole_group_comes_back(
    served: Served,
) -> None:
    before = served.invocations()
    served.on(OTHER, f"mount -t tmpfs -o size=1m tmpfs {SMALL_DISK}")
    shown = served.up(code=1)
    served.on(OTHER, f"umount {SMALL_DISK}")
    row("disk-full-serve").holds(shown, host=OTHER, folder=SMALL_DISK)
    for name in (HEAD, OTHER):
        served.on(name, f"systemctl --quiet is-active {UNIT}")
    assert served.invocations() == before
    _all_come_back(served, before)


def test_a_head_that_is_killed_is_named_and_the_whole_group_comes_back(served: Served) -> None:
    before = served.invocations()
    served.on(HEAD, f"systemctl kill --signal=KILL {UNIT}")
    row("head-killed").holds(served.drift(), host=HEAD)
    _all_come_back(served, before)


def test_starts_and_stops_leave_no_port_memory_or_shared_segment_behind(served: Served) -> None:
    for _ in range(STARTS):
        for name in (HEAD, OTHER):
            served.on(name, f"systemctl start {UNIT}")
        served.on(HEAD, LISTENS, deadline=600)
        for name in (HEAD, OTHER):
            served.on(name, f"systemctl stop {UNIT}")
    assert {name: served.on(name, HELD) for name in (HEAD, OTHER)} == {HEAD: "", OTHER: ""}
    row("starts-and-stops").holds("")


def test_a_host_that_is_switched_off_while_ranks_start_is_named_and_made_again(served: Served) -> None:
    before = served.invocations()
    running = served.start_up()
    running.wait_for(task_of("serve"))
    served.kill_machine(OTHER)
    assert running.finish() == 1
    row("host-off-serve").holds(running.text, host=OTHER)
    _all_come_back(served, before)


def test_destroy_leaves_nothing(served: Served) -> None:
    served.destroy()
    assert traces(served.fleet) == []
    assert served.betrayed() == []


def _all_come_back(served: Served, before: dict[str, str]) -> None:
    served.up()
    after = served.invocations()
    assert all(after[name] != before[name] for name in before)
    assert served.answers()

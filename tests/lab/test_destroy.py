"""What a killed `up` leaves is taken away by `destroy`, also what no state knows of."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.lab.outside import task_of, traces

if TYPE_CHECKING:
    from tests.lab.checkout import Checkout

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("moment", [r"host-0.*starting", r"prepare: "])
def test_destroy_after_a_kill_leaves_nothing(checkout: Checkout, moment: str) -> None:
    running = checkout.start_up()
    running.wait_for(moment)
    running.process.kill()
    running.finish()
    assert traces(checkout.fleet) != []
    checkout.recover()
    checkout.destroy()
    assert checkout.processes() == []
    assert traces(checkout.fleet) == []


def test_a_replaced_inventory_replaces_the_machines_that_it_sweeps(checkout: Checkout) -> None:
    _until_prepare(checkout)
    before = checkout.host("host-0")
    checkout.run("state", "taint", checkout.state()["inventory"]["urn"], "--yes", "--stack", "lab")
    _until_prepare(checkout)
    assert checkout.host("host-0").incarnation != before.incarnation
    assert "host-0" in checkout.on("host-0", "hostname")
    checkout.destroy()
    assert traces(checkout.fleet) == []


def _until_prepare(checkout: Checkout) -> None:
    running = checkout.start_up()
    running.wait_for(task_of("prepare"))
    running.process.send_signal(signal.SIGINT)
    assert running.finish() == 1

"""What a killed `up` leaves is taken away by `destroy`, also what no state knows of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lab.checkout import Checkout
from tests.lab.outside import traces

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("moment", [r"host-0.*starting", r"prepare: "])
def test_destroy_after_a_kill_leaves_nothing(tmp_path: Path, moment: str) -> None:
    checkout = Checkout(tmp_path)
    running = checkout.start_up()
    running.wait_for(moment)
    running.process.kill()
    running.finish()
    assert traces(checkout.fleet) != []
    checkout.run("cancel", "--yes", "--stack", "lab")
    checkout.destroy()
    assert checkout.processes() == []
    assert traces(checkout.fleet) == []

"""The state cannot be written, two work at once, names are difficult: the story of one fleet begins here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.factories.pulumi import Pulumi
from tests.lab.faults.rows import row
from tests.lab.faults.served import DEEP, HEAD, LONGEST_KEY, OTHER, read_only

if TYPE_CHECKING:
    from pathlib import Path

    from tests.factories.pulumi import Running
    from tests.lab.faults.served import Served

pytestmark = [pytest.mark.lab, pytest.mark.long]


@pytest.fixture(scope="module")
def boots(served: Served) -> dict[str, int]:
    """Break an `up` off by a backend that cannot be written any more; return which machines it had made."""
    fault = row("backend-not-writable")
    with read_only(served.backend) as spoil:
        running = served.start_up()
        running.wait_for(rf"{OTHER}.* created")
        spoil()
        assert running.finish() != 0
    fault.holds(running.text, backend=served.backend)
    return served.launchers()


@pytest.fixture(scope="module")
def working(served: Served, boots: dict[str, int]) -> Running:
    """Run `up` again, until a playbook has its lock."""
    assert set(boots) == {HEAD, OTHER}
    served.recover()
    running = served.start_up()
    running.wait_for(r"host-\d: (engine|checkpoint): ")
    return running


def test_two_operators_with_one_state_do_not_meet(served: Served, working: Running) -> None:
    with served.halted():
        shown = served.run("up", "--yes", "--skip-preview", "--stack", served.stack, code=None)
    row("two-operators-one-state").holds(shown, host=os.uname().nodename, pid=working.process.pid)


def test_two_operators_with_two_states_do_not_meet_on_the_hosts(
    served: Served, working: Running, tmp_path: Path
) -> None:
    other = Pulumi(served.home, tmp_path, served.stack, RACKSTACK_CACHE=str(served.cache))
    other.environment = {**served.environment, "PULUMI_BACKEND_URL": f"file://{tmp_path}/backend"}
    other.run("stack", "init", other.stack)
    with served.halted():
        shown = other.up(code=1)
    assert working.process.poll() is None
    row("two-operators-two-states").holds(shown, fleet=served.fleet, host=os.uname().nodename)


def test_a_backend_that_could_not_be_written_any_more_has_lost_nothing(
    served: Served, working: Running, boots: dict[str, int]
) -> None:
    assert working.finish() == 0, working.text
    assert served.launchers() == boots
    assert served.answers()


def test_a_folder_and_a_key_may_be_called_whatever_is_allowed(served: Served) -> None:
    shown = served.run("stack", "--show-urns", "--stack", served.stack)
    row("hostile-names").holds(shown, stack=served.stack)
    assert f"/{DEEP}project" in str(served.home)
    assert served.answers(served.outputs()["apiKeys"][LONGEST_KEY])

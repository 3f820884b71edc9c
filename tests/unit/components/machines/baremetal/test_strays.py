"""What a fleet left on machines, as those tell it; a stand-in answers for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from components.hosts import markers, playbook, ssh
from components.machines.baremetal import asking
from components.machines.baremetal.lease import Lease
from components.machines.baremetal.strays import BareMetal
from tests.factories.hosts import host
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.hosts.record import HostRecord

FLEET = "f-000000"
FOLDER = f"/var/lib/rackstack/{FLEET}\n"


def held_by(fleet: str) -> str:
    """Return a lease as a machine shows it."""
    return Lease(
        fleet=fleet,
        name="a",
        owner="ops@desk",
        since="2026-12-01T00:00:00Z",
        until="2026-12-08T00:00:00Z",
        incarnation="i",
        machine="m",
    ).model_dump_json()


@pytest.mark.parametrize(
    ("lease", "taken", "given", "things"),
    [
        (held_by(FLEET), ["a"], ["a"], 2),
        ("", ["a"], [], 1),
        (held_by("other-3fa2c1"), [], [], 0),
        ("no lease", [], [], 0),
    ],
    ids=["its own", "nobody's", "another fleet's", "one that cannot be read"],
)
def test_only_a_machine_that_no_other_fleet_holds_is_cleared(
    lease: str, taken: list[str], given: list[str], things: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ssh.Answer(0, f"{FOLDER}{markers.SEPARATOR}{lease}", "")
    monkeypatch.setattr(ssh, "run", lambda *_, **__: answer)
    cleared: list[str] = []
    back: list[str] = []

    def take_back(fleet: str, hosts: Sequence[HostRecord], _: object) -> None:
        assert fleet == FLEET
        cleared.extend(each.name for each in hosts)

    monkeypatch.setattr(playbook, "take_back", take_back)
    monkeypatch.setattr(asking, "give", lambda host, *_: back.append(host.name))
    machines = [host("a")]
    assert len(BareMetal().list_things(FLEET, machines)) == things
    BareMetal().remove_strays(FLEET, machines, FakeRun())
    assert (cleared, back) == (taken, given)

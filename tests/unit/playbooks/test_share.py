"""Of several machines that share a folder one fetches, and none removes what another one uses."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.unit.playbooks.files import PLAYBOOKS, program
from tests.unit.playbooks.origin import CONTENT, there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.unit.playbooks.origin import Mirror

fetch = program("roles/checkpoint/files/fetch.py")
leave = program("roles/checkpoint/files/leave.py")
FETCH = PLAYBOOKS / "roles/checkpoint/files/fetch.py"
SLOW = "config.json"
PATIENCE = 30

Machine = subprocess.Popen[str]


@pytest.fixture
def start(manifest: Path) -> Iterator[Callable[[str], Machine]]:
    """Start the fetch of a machine, a process of its own."""
    started: list[Machine] = []

    def start(name: str) -> Machine:
        own = manifest.with_name(name)
        own.write_text(json.dumps(json.loads(manifest.read_text()) | {"user": name}))
        argv = [sys.executable, str(FETCH), "fetch", str(own)]
        started.append(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for machine in started:
        machine.kill()
        machine.communicate()


@pytest.fixture
def both(start: Callable[[str], Machine], mirror: Mirror) -> tuple[Machine, Machine]:
    """Start two machines: the first waits for the mirror, and the second for the first."""
    mirror.silent = SLOW
    first = start("tray-0")
    assert mirror.asked.wait(PATIENCE)
    second = start("tray-1")
    assert second.stdout
    assert second.stdout.readline().startswith("tray-0 fetches ")
    return first, second


def ended(machine: Machine) -> tuple[int, str]:
    """Return the status and the last line of a machine."""
    out, _ = machine.communicate(timeout=PATIENCE)
    return machine.returncode, (out.splitlines() or [""])[-1]


def test_one_of_two_machines_fetches_and_both_have_it(
    both: tuple[Machine, Machine], mirror: Mirror, home: Path
) -> None:
    mirror.over.set()
    assert ended(both[0])[0] == 0
    assert ended(both[1]) == (0, "")
    assert sorted(name for name, _ in mirror.sent) == sorted(name for name in CONTENT if CONTENT[name])
    assert there(home).items() >= CONTENT.items()


def test_who_waits_for_a_machine_that_dies_takes_over(
    both: tuple[Machine, Machine], mirror: Mirror, home: Path
) -> None:
    mirror.silent = None
    both[0].kill()
    assert ended(both[1])[0] == 0
    assert there(home).items() >= CONTENT.items()


def test_who_waits_for_a_machine_that_fails_asks_the_mirror_no_second_time(
    both: tuple[Machine, Machine], mirror: Mirror, home: Path
) -> None:
    mirror.files[SLOW] = b"[]"
    mirror.over.set()
    status, said = ended(both[0])
    assert status == 1
    assert " and it was thrown away: repair it on the mirror" in said
    asked = len(mirror.sent)
    assert ended(both[1]) == (
        1,
        f"tray-0 fetched {home} for all that share it, and failed: mend what it says, then run again",
    )
    assert len(mirror.sent) == asked


def test_the_next_run_begins_anew_after_a_failure(
    start: Callable[[str], Machine], mirror: Mirror, home: Path
) -> None:
    mirror.files[SLOW] = b"[]"
    assert ended(start("tray-0"))[0] == 1
    mirror.files[SLOW] = CONTENT[SLOW]
    assert ended(start("tray-1"))[0] == 0
    assert there(home).items() >= CONTENT.items()


@pytest.fixture
def fetched(manifest: Path, home: Path) -> Path:
    """Return a checkpoint that is there."""
    fetch.bring(fetch.read(manifest))
    return home


def uses(home: Path, *users: str) -> Path:
    """Have machines use a checkpoint; return where they are listed."""
    listed = home.with_name(f"{home.name}.users")
    listed.mkdir(parents=True, exist_ok=True)
    for user in users:
        (listed / user).touch()
    return listed


def test_the_last_user_removes_the_checkpoint_and_no_other_does(fetched: Path) -> None:
    listed = uses(fetched, "a", "b")
    assert leave.leave(fetched, "a", keep=False) == f"{fetched} is left to b"
    assert there(fetched).items() >= CONTENT.items()
    assert leave.leave(fetched, "b", keep=False) == f"{fetched} was removed"
    assert not listed.exists()
    assert list(fetched.parent.iterdir()) == []
    assert leave.leave(fetched, "b", keep=False) == f"{fetched} is not there"


def test_a_kept_checkpoint_stays_without_what_was_arriving(fetched: Path) -> None:
    uses(fetched, "a")
    part = fetched.with_name(f"{fetched.name}.part")
    part.mkdir()
    assert leave.leave(fetched, "a", keep=True) == f"{fetched} stays"
    assert there(fetched).items() >= CONTENT.items()
    assert list(fetched.parent.iterdir()) == [fetched]


def test_who_waits_for_a_lock_that_is_removed_takes_the_next_one(
    manifest: Path, home: Path, start: Callable[[str], Machine]
) -> None:
    place = fetch.read(manifest).lock
    place.parent.mkdir(parents=True)
    another = place.with_name("next")
    with place.open("a+b") as removed, another.open("a+b", buffering=0) as following:
        assert fetch.taken(removed)
        machine = start("tray-1")
        assert machine.stdout
        assert machine.stdout.readline().startswith("another machine fetches ")
        another.rename(place)
        assert fetch.taken(following)
        fetch.leave_word(following, fetch.read(manifest.with_name("tray-1")), failed=False)
        removed.close()
        assert machine.stdout.readline().startswith("tray-1 fetches ")
        assert not home.exists()
    assert ended(machine)[0] == 0
    assert there(home).items() >= CONTENT.items()


def test_what_a_machine_fetches_is_left_to_it(both: tuple[Machine, Machine], home: Path) -> None:
    assert leave.leave(home, "tray-9", keep=False) == f"{home} is left to a machine that fetches it"
    assert both[0].poll() is None
    assert home.with_name(f"{home.name}.part").exists()


def test_a_user_who_comes_while_it_is_removed_keeps_it(
    fetched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: Iterator[list[str]] = iter([[], ["late"]])
    monkeypatch.setattr(leave, "using", lambda _: next(answers))
    assert leave.leave(fetched, "a", keep=False) == f"{fetched} is left to late"
    assert there(fetched).items() >= CONTENT.items()

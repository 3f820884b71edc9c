"""The two programs that are run on machines: here on this one, and in folders of the test's own."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from components.hosts import markers
from components.machines.baremetal import asking, hold, survey, verdict
from tests.factories.processes import deaf_to_signals

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE = json.dumps({"fleet": "one", "incarnation": "i1"})
TWO = json.dumps({"fleet": "two", "incarnation": "i2"})


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that stands for the machine's."""
    monkeypatch.setattr(hold, "LEASE", tmp_path / "lease")
    return tmp_path


def test_a_machine_is_held_by_the_first_until_it_gives_it_back(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hold.main("take", ONE) == 0
    assert hold.main("take", TWO) == hold.HELD
    assert capsys.readouterr().out == ONE
    assert hold.main("give", "incarnation", "i2") == hold.HELD
    assert (machine / "lease").read_text() == ONE
    assert hold.main("give", "incarnation", "i1") == 0
    assert list(machine.iterdir()) == []
    assert hold.main("give", "incarnation", "i1") == 0


def test_only_the_lease_that_was_seen_is_replaced(machine: Path) -> None:
    hold.main("take", ONE)
    assert hold.main("take", TWO, "i0") == hold.HELD
    assert hold.main("take", TWO, "i1") == 0
    assert (machine / "lease").read_text() == TWO
    assert hold.main("give", "fleet", "two") == 0


def test_what_is_no_lease_is_left_alone(machine: Path) -> None:
    (machine / "lease").write_text("who knows")
    assert hold.main("take", ONE) == hold.HELD
    assert hold.main("give", "fleet", "one") == hold.HELD
    assert (machine / "lease").read_text() == "who knows"


def test_of_many_at_once_one_has_it(machine: Path) -> None:
    program = Path(hold.__file__).read_text().replace("/var/lib/rackstack-lease", str(machine / "lease"))

    def take(number: int) -> int:
        words = ["take", json.dumps({"incarnation": str(number)})]
        argv = [sys.executable, "-I", "-S", "-", *words]
        return subprocess.run(argv, input=program, text=True, capture_output=True, check=False).returncode

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(take, range(6))) == [0, *[hold.HELD] * 5]


def test_a_process_that_keeps_the_others_out_is_named_and_not_waited_for(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold, "LONGEST", 0.0)
    blocker = (
        "import fcntl, os, sys; f = os.open(sys.argv[1], 0); fcntl.flock(f, 2); print(); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", blocker, str(machine)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()  # now it has it
        with pytest.raises(SystemExit) as ended:
            hold.main("take", ONE)
        other.communicate("")
    said = str(ended.value)
    assert said.startswith(f"process {other.pid} ({sys.executable} -c import fcntl")
    assert said.endswith(f") has locked {machine} for more than 0 s")
    assert list(machine.iterdir()) == []
    assert hold.main("take", ONE) == 0


def test_the_wait_ends_before_whoever_asks_gives_up() -> None:
    assert hold.LONGEST < asking.HOLD_SECONDS / 1.5


def test_both_programs_and_the_verdict_mean_one_file() -> None:
    assert {str(hold.LEASE), str(survey.LEASE)} == {markers.LEASE}


def test_this_machine_can_be_surveyed_without_any_package() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-", "127.0.0.1"],
        input=Path(survey.__file__).read_text(),
        text=True,
        capture_output=True,
        check=True,
    )
    facts = verdict.read(done.stdout)
    assert facts is not None
    assert facts.cpus > 0
    assert facts.memory_mib > 0


def test_what_is_on_the_bus_is_counted_by_vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = {
        "a": ("0x10de", "0x030200"),
        "b": ("0x10de", "0x030200"),
        "switch": ("0x10de", "0x068000"),
        "nic": ("0x15b3", "0x020000"),
        "bmc": ("0x1a03", "0x030000"),
        "amd": ("0x1002", "0x120000"),
    }
    for name, (vendor, kind) in devices.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "class").write_text(f"{kind}\n")
    monkeypatch.setattr(survey, "DEVICES", tmp_path)
    assert survey.on_bus() == {"10de": 2, "1a03": 1, "1002": 1}


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("echo 'NVIDIA GB300'; echo 'NVIDIA GB300'", (["NVIDIA GB300"] * 2, "")),
        ("echo 'No devices were found'; exit 6", (None, "it ended with status 6: No devices were found")),
        ("echo 'NVIDIA-SMI has failed' >&2; exit 9", (None, "")),
        ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", (None, "")),
        ("exit 1", (None, "it ended with status 1: it said nothing")),
        ("exec sleep 9", (None, "it did not answer within 0.2 s")),
    ],
)
def test_the_drivers_tool_is_believed_or_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, found: tuple[Sequence[str] | None, str]
) -> None:
    tool = tmp_path / "smi"
    tool.write_text(f"#!/bin/sh\n{program}\n")
    tool.chmod(0o755)
    monkeypatch.setattr(survey, "SMI", (str(tool),))
    monkeypatch.setattr(survey, "SMI_SECONDS", 0.2)
    assert survey.gpus() == found


def test_a_tool_that_hangs_in_the_driver_hides_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "SMI", ("sleep", "60"))
    monkeypatch.setattr(survey, "SMI_SECONDS", 0.01)
    monkeypatch.setattr(survey, "END_SECONDS", 0.01)
    with deaf_to_signals(monkeypatch) as left:
        assert survey.gpus() == (None, "it did not answer within 0.01 s")
        assert [process.poll() for process in left] == [None]


def test_without_the_tool_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "SMI", ("no-such-tool",))
    assert survey.gpus() == (None, "")


def test_the_interface_is_the_one_that_holds_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (
        "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever\n"
        "2: eth0    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0\\       valid_lft forever\n"
        "3: ib0    inet 10.0.0.11/24 scope global ib0\\       valid_lft forever\n"
    )
    done = subprocess.CompletedProcess[str]([], 0, shown, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert [survey.interface(each) for each in ("10.0.0.11", "10.0.0.1", "10.0.0.111")] == ["ib0", "eth0", ""]

"""What a host is seen to show; the same program writes markers and looks later."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.factories.processes import deaf_to_signals
from tests.unit.playbooks.files import program

observe = program("roles/marker/files/observe.py")
GPUS = yaml.safe_load((Path(__file__).parents[2] / "cases" / "hosts" / "gpus.yaml").read_text())
GROUPS = {"11": "0::/system.slice/thief.service\n", "12": "0::/system.slice/rank.service\n"}
LISTENING = """LISTEN 0 5 0.0.0.0:8000 0.0.0.0:* users:(("python3",pid=11,fd=3))
LISTEN 0 5 [::]:8000 [::]:* users:(("python3",pid=11,fd=4))
LISTEN 0 5 [::]:29600 [::]:* users:(("vllm",pid=12,fd=3))
LISTEN 0 5 *:111 *:*
LISTEN 0 5 *:22 *:* users:(("sshd",pid=13,fd=3))
"""


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Lend commands of a host by their first word → what they print."""
    answers: dict[str, str] = {}
    monkeypatch.setattr(observe, "output", lambda *command: answers.get(command[0], ""))
    monkeypatch.setattr(observe, "control_group", lambda pid: GROUPS.get(pid, ""))
    monkeypatch.setattr(observe, "argv", lambda pid: ["python3", pid] if pid != "0" else [])
    return answers


def test_files_links_and_folders_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    keys = [str(tmp_path / name) for name in ("file", "link", "", "absent")]
    seen = observe.see({"files": keys})["files"]
    assert seen[keys[0]]["mode"] == "0640"
    assert [seen[key] and seen[key]["content"] for key in keys] == [
        hashlib.sha256(b"a").hexdigest(),
        "-> file",
        "folder",
        None,
    ]


def test_values_are_short_and_stats_read_nothing(tmp_path: Path) -> None:
    path, absent = tmp_path / "value", str(tmp_path / "absent")
    path.write_text("32768\t60999\n" + " x" * 200)
    seen = observe.see({"values": [str(path), absent], "stats": [str(path), absent]})
    assert seen["values"][str(path)].startswith("32768 60999 x")
    assert len(seen["values"][str(path)]) == observe.LONGEST_VALUE
    assert seen["stats"][str(path)] == [path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino]
    assert seen["values"][absent] is seen["stats"][absent] is None


def test_units_are_told_apart_and_their_stopped_processes_named(
    says: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rank.service").mkdir()
    (tmp_path / "rank.service" / "cgroup.procs").write_text("12\n14\n")
    monkeypatch.setattr(observe, "CGROUPS", (tmp_path,))
    monkeypatch.setattr(observe, "state_of", {"12": "S", "14": "T"}.__getitem__)
    says["systemctl"] = (
        "Id=rank.service\nActiveState=active\nSubState=running\nUnitFileState=static\nInvocationID=f00\n"
        "MainPID=12\nControlGroup=/rank.service\nFreezerState=running\n\n"
        "Id=nope.service\nActiveState=inactive\nSubState=dead\nMainPID=0\n"
    )
    seen = observe.see({"units": ["rank.service", "nope.service", "odd.service"]})["units"]
    assert seen["rank.service"] == {
        "active": "active",
        "sub": "running",
        "start": "static",
        "invocation": "f00",
        "argv": ["python3", "12"],
        "stopped": ["14 (python3 14)"],
    }
    assert (seen["nope.service"]["active"], seen["odd.service"]) == ("inactive", None)


def test_all_processes_of_a_frozen_unit_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cgroup.procs").write_text("12\n")
    monkeypatch.setattr(observe, "CGROUPS", (tmp_path,))
    monkeypatch.setattr(observe, "argv", lambda _: [])
    assert list(observe.stopped("/", "frozen")) == ["12 ()"]


def test_only_installed_packages_have_a_version(says: dict[str, str]) -> None:
    says["dpkg-query"] = "nginx installed 1.22.1-9\nnftables config-files 1.0.6-2\n"
    seen = observe.see({"packages": ["nginx", "nftables", "g++"]})["packages"]
    assert seen == {"nginx": "1.22.1-9", "nftables": None, "g++": None}


def test_a_port_is_taken_by_strangers_only(says: dict[str, str]) -> None:
    says["ss"] = LISTENING
    seen = observe.see({"units": ["rank.service"], "ports": [8000, 29600, 111, 9]})
    assert seen["ports"] == {
        "8000": ["'python3 11' (process 11 of thief.service)"],
        "29600": [],
        "111": ["something without a process"],
        "9": [],
    }
    assert list(observe.others(seen)) == [
        "port 8000 is taken by 'python3 11' (process 11 of thief.service)",
        "port 111 is taken by something without a process",
    ]


def test_a_gpu_is_used_by_strangers_only(says: dict[str, str]) -> None:
    says["nvidia-smi"] = "12, vllm, 70000 MiB\n11, python3, 512 MiB\n"
    seen = observe.see({"units": ["rank.service"], "gpus": ["nvidia-smi"]})
    assert list(observe.others(seen)) == [
        "the GPUs are used by 'python3 11' (process 11 of thief.service), 512 MiB"
    ]


@pytest.mark.parametrize("case", GPUS, ids=[case["name"] for case in GPUS])
def test_what_the_driver_says_of_computing_processes(case: dict[str, Any]) -> None:
    assert [list(each) for each in observe.compute_processes(case["text"])] == case["processes"]


def test_a_look_tells_of_every_marker_and_what_it_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(observe, "MARKERS", tmp_path)
    (tmp_path / "f").mkdir()
    watched = {"role": {"values": {str(tmp_path / "v"): "was"}, "of another time": {"a": 1}}}
    (tmp_path / "f" / "good.json").write_text(json.dumps({"run": "i.1", "watched": watched}))
    (tmp_path / "f" / "half.json").write_text('{"run": "i.')
    (tmp_path / "f" / "list.json").write_text("[]")
    (tmp_path / "f" / "odd.json").write_text('{"watched": {"role": {"files": 1}}}')
    (tmp_path / "v").write_text("is")
    observe.main("look", "f")
    seen = json.loads(capsys.readouterr().out)
    assert seen["good"]["now"] == {"role": {"values": {str(tmp_path / "v"): "is"}}}
    assert seen["half"] == seen["list"] == seen["odd"] == {"marker": None, "now": {}}


def test_a_command_that_is_not_there_prints_nothing() -> None:
    assert observe.output("no-such-command") == ""
    assert observe.printed("printf a") == hashlib.sha256(b"a").hexdigest()


def test_a_tool_that_hangs_in_the_driver_hides_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "PATIENCE", 0.01)
    monkeypatch.setattr(observe, "END_PATIENCE", 0.01)
    with deaf_to_signals(monkeypatch) as left:
        assert observe.output("sleep", "60") == ""
        assert [process.poll() for process in left] == [None]


@pytest.mark.parametrize(
    ("shown", "seen"),
    [
        ("", ""),
        ("0a-1b ext4 /dev/nvme1n1p1[/rackstack-checkpoints]\n", "0a-1b ext4 [/rackstack-checkpoints]"),
        ("0a-1b xfs  /dev/nvme0n1\n", "0a-1b xfs"),
        ("     nfs4 10.20.0.5:/e\n", "nfs4 10.20.0.5:/e"),
        ("     tmpfs none\n0a xfs /dev/sda\n", "0a xfs"),
    ],
)
def test_what_is_mounted_is_told_without_names_that_change(
    says: dict[str, str], shown: str, seen: str
) -> None:
    says["findmnt"] = shown
    assert observe.see({"mounts": ["/c"]}) == {"mounts": {"/c": seen}}

"""Where the control groups of machines lie, in both versions of the kernel's interface."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from components.machines.lab import cgroups
from components.machines.lab.cgroups import Hierarchy

if TYPE_CHECKING:
    import pytest

HYBRID_MOUNTS = """\
22 1 0:20 / /proc rw shared:3 - proc proc rw
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory
34 31 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
HYBRID_GROUPS = """\
4:memory:/session/7
3:cpu,cpuacct:/
2:name=systemd:/user.slice
1:misc:/
0::/user.slice
"""


def test_version_1_has_a_tree_for_each_set_of_controllers() -> None:
    mount = Path("/sys/fs/cgroup")
    assert cgroups.hierarchies(HYBRID_MOUNTS, HYBRID_GROUPS) == [
        Hierarchy(mount / "memory", mount / "memory/session/7", unified=False),
        Hierarchy(mount / "cpu,cpuacct", mount / "cpu,cpuacct", unified=False),
        Hierarchy(mount / "systemd", mount / "systemd/user.slice", unified=False),
        Hierarchy(mount / "unified", mount / "unified/user.slice", unified=True),
    ]


def test_a_mount_of_a_part_of_a_tree_is_looked_at_from_its_root() -> None:
    mounts = "33 31 0:30 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    inside = cgroups.hierarchies(mounts, "4:memory:/docker/ab/x\n")
    assert [each.own for each in inside] == [Path("/sys/fs/cgroup/memory/x")]
    assert cgroups.hierarchies(mounts, "4:memory:/elsewhere\n") == []


def test_version_1_takes_our_own_group(tmp_path: Path) -> None:
    own = tmp_path / "session"
    own.mkdir()
    assert cgroups._room(Hierarchy(tmp_path, own, unified=False)) == own  # noqa: SLF001 -- no other way to see it


def test_version_2_takes_the_next_group_that_passes_controllers_on(tmp_path: Path) -> None:
    slice_, scope = tmp_path / "user.slice", tmp_path / "user.slice" / "session.scope"
    _group(tmp_path, "cpu io memory pids", passes=True)
    _group(slice_, "cpu memory pids", passes=True)
    _group(scope, "cpu memory pids", passes=False)
    assert cgroups._room(Hierarchy(tmp_path, scope, unified=True)) == slice_  # noqa: SLF001 -- no other way to see it


def test_version_2_without_any_that_does_takes_our_own(tmp_path: Path) -> None:
    own = tmp_path / "init"
    _group(tmp_path, "cpu memory pids", passes=False)
    _group(own, "cpu memory pids", passes=False)
    assert cgroups._room(Hierarchy(tmp_path, own, unified=True)) == own  # noqa: SLF001 -- no other way to see it


def test_version_2_without_controllers_takes_our_own(tmp_path: Path) -> None:
    own = tmp_path / "user.slice"
    _group(tmp_path, "", passes=True)
    _group(own, "", passes=True)
    assert cgroups._room(Hierarchy(tmp_path, own, unified=True)) == own  # noqa: SLF001 -- no other way to see it


def test_each_limit_that_is_not_as_asked_has_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "memory", tmp_path / "cpu"
    first.mkdir()
    second.mkdir()
    (first / "memory.limit_in_bytes").write_text("268435456\n")
    (second / "cpu.max").write_text("max 100000\n")
    monkeypatch.setattr(cgroups, "find", lambda _: [first, second])
    assert cgroups.differing("m", 1.5, 256) == {
        "cpus": "its limit is max 100000 (cpu.max), not 150000 100000"
    }
    assert cgroups.limit("m", 1.5, 128) == ["processes"]
    assert cgroups.differing("m", 1.5, 128) == {}
    assert cgroups.differing("m", 1.5, 256) == {
        "memory": "its limit is 134217728 (memory.limit_in_bytes), not 268435456"
    }


def test_what_cannot_be_limited_does_not_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "find", lambda _: [tmp_path])
    assert cgroups.differing("m", 1, 256) == {}


def _group(folder: Path, controllers: str, *, passes: bool) -> None:
    """Make a folder that looks like a group; one that passes nothing on has a read-only switch."""
    folder.mkdir(exist_ok=True)
    (folder / "cgroup.controllers").write_text(controllers)
    if passes:
        (folder / "cgroup.subtree_control").write_text(controllers)
        return
    (folder / "cgroup.subtree_control").symlink_to("/dev/null")

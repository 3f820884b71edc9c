"""A mirror holds what the lock names, is never half there, and goes on where it stopped."""

import fcntl
import hashlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from stacks.errors import Refusal
from tests.fakes.index import Index
from tests.fakes.loopback import Reply
from tools import mirror
from tools.lock.wheels import Target

HOSTS = Target("3.12", "aarch64-manylinux_2_34")
BIG = 3 << 20  # more than is read at a time


@pytest.fixture
def lock(index: Index) -> str:
    """Return a lock of three wheels, one of them for the hosts' machine alone."""
    paddings = {"one": BIG, "three": 0}
    lines = [
        _line(index, name, index.add(name, "1.0", padding=padding)) for name, padding in paddings.items()
    ]
    tags = ("cp38-abi3-manylinux_2_34_aarch64", "cp38-abi3-manylinux_2_28_x86_64")
    lines.append(_line(index, "two", *(index.add("two", "2.0", each) for each in tags), release="2.0"))
    return "\n".join(lines)


def _line(index: Index, name: str, *paths: str, release: str = "1.0") -> str:
    hashed = " \\\n".join(f"    --hash=sha256:{index.sha256(path)}" for path in paths)
    return f"{name}=={release} \\\n{hashed}\n    # via nobody"


NAMES = [
    "one-1.0-py3-none-any.whl",
    "three-1.0-py3-none-any.whl",
    "two-2.0-cp38-abi3-manylinux_2_34_aarch64.whl",
]
ONE = f"/simple/one/{NAMES[0]}"


def _held(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_hosts_wheels_are_there_and_a_second_run_asks_nobody(
    index: Index, lock: str, tmp_path: Path
) -> None:
    folder = tmp_path / "mirror"
    assert mirror.ensure(folder, lock, HOSTS) == len(NAMES)
    assert _held(folder) == NAMES
    assert _held(tmp_path) == ["mirror"]
    index.asked.clear()
    assert mirror.ensure(folder, lock, HOSTS) == 0
    assert index.asked == []


@pytest.mark.parametrize("damage", [b"", b"other bytes"])
def test_a_damaged_wheel_is_removed_and_had_again(
    index: Index, lock: str, tmp_path: Path, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mirror"
    mirror.ensure(folder, lock, HOSTS)
    (folder / NAMES[0]).write_bytes(damage)
    index.asked.clear()
    assert mirror.ensure(folder, lock, HOSTS) == 1
    assert f"{NAMES[0]} is not what the lock names: removed" in capsys.readouterr().err
    assert hashlib.sha256((folder / NAMES[0]).read_bytes()).hexdigest() == index.sha256(ONE)
    assert [path for path in index.asked if path.endswith(".whl")] == [ONE]


def test_a_broken_download_goes_on_where_it_stopped(index: Index, lock: str, tmp_path: Path) -> None:
    content = index.files[ONE]
    index.faults[ONE] = [Reply(body=content, cut=1 << 20)]
    assert mirror.ensure(tmp_path / "mirror", lock, HOSTS) == len(NAMES)
    assert f"{ONE} from {len(content) - (1 << 20)}" in index.asked


def test_a_killed_run_goes_on_and_has_no_name_before_it_is_whole(
    index: Index, lock: str, tmp_path: Path
) -> None:
    index.faults[ONE] = [Reply(503)]
    with pytest.raises(
        Refusal, match=r"one-1\.0-py3-none-any\.whl: answered with 503; wait, then run again$"
    ):
        mirror.ensure(tmp_path / "mirror", lock, HOSTS)
    assert not (tmp_path / "mirror").exists()
    part = tmp_path / ".mirror.part"
    (part / f".{NAMES[0]}.part").write_bytes(index.files[ONE][:1000])
    had = len([name for name in _held(part) if name.endswith(".whl")])
    assert mirror.ensure(tmp_path / "mirror", lock, HOSTS) == len(NAMES) - had
    assert f"{ONE} from 1000" in index.asked
    assert _held(tmp_path / "mirror") == NAMES


def test_an_index_that_cannot_go_on_sends_all_of_it(index: Index, lock: str, tmp_path: Path) -> None:
    part = tmp_path / ".mirror.part"
    part.mkdir()
    (part / f".{NAMES[0]}.part").write_bytes(index.files[ONE][:1000])
    index.faults[ONE] = [Reply(body=index.files[ONE])]
    mirror.ensure(tmp_path / "mirror", lock, HOSTS)
    assert (tmp_path / "mirror" / NAMES[0]).read_bytes() == index.files[ONE]


@pytest.mark.parametrize("more", [0, 1])
def test_a_download_that_was_whole_or_longer_ends_well(
    index: Index, lock: str, tmp_path: Path, more: int
) -> None:
    part = tmp_path / ".mirror.part"
    part.mkdir()
    (part / f".{NAMES[0]}.part").write_bytes(index.files[ONE] + b"x" * more)
    mirror.ensure(tmp_path / "mirror", lock, HOSTS)
    assert (tmp_path / "mirror" / NAMES[0]).read_bytes() == index.files[ONE]


def test_another_file_than_the_locks_is_refused_and_removed(index: Index, lock: str, tmp_path: Path) -> None:
    index.faults[ONE] = [Reply(body=b"x" * len(index.files[ONE]))]
    with pytest.raises(
        Refusal, match=r"one-1\.0.*\.whl: has the SHA-256 .*, and the lock names .*; it was removed"
    ):
        mirror.ensure(tmp_path / "mirror", lock, HOSTS)
    assert [name for name in _held(tmp_path / ".mirror.part") if NAMES[0] in name] == []


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(404), r"does not exist there \(404\)"),
        (Reply(403), r"needs a login \(403\)"),
        (Reply(429, headers={"Retry-After": "5"}), r"too many requests \(429\); wait for 5 s"),
        (Reply(body=b"123456789", cut=9), r"broke off 9 bytes before its end"),
    ],
)
def test_a_failure_is_one_sentence(index: Index, lock: str, tmp_path: Path, reply: Reply, said: str) -> None:
    index.faults[ONE] = [reply]
    with pytest.raises(Refusal, match=said) as refused:
        mirror.ensure(tmp_path / "mirror", lock, HOSTS)
    assert "\n" not in str(refused.value)


def test_a_wheel_that_left_the_index_is_named(index: Index, lock: str, tmp_path: Path) -> None:
    del index.files[ONE]
    with pytest.raises(Refusal, match=r"one"):
        mirror.ensure(tmp_path / "mirror", lock, HOSTS)


def test_too_small_a_disk_is_told_before_anything_is_downloaded(
    index: Index, lock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(Refusal, match=r"0\.0 GB of wheels are lacking and 0\.0 GB are free; make room"):
        mirror.ensure(tmp_path / "mirror", lock, HOSTS)
    assert [path for path in index.asked if path.endswith(".whl")] == []


def test_two_at_once_are_refused(lock: str, tmp_path: Path) -> None:
    folder = tmp_path / "mirror"
    folder.mkdir()
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(Refusal, match=r"another `make mirror` is filling it"):
        mirror.ensure(folder, lock, HOSTS)
    os.close(handle)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("vllm-0.33.0", "ENGINE=vllm-0.33.0: there is no such engine in the catalog; "),
        ("vllm-0.33.0-rocm", "vllm-0.33.0-rocm: its x86_64 lock is not pinned ("),
    ],
)
def test_an_engine_without_a_lock_is_one_sentence(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mirror", name])
    assert mirror.main() == 1
    assert capsys.readouterr().err.startswith(said)

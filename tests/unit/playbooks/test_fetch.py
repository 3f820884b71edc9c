"""A checkpoint is visible when every file of it is verified, and not before."""

import errno
import hashlib
import io
import os
import subprocess
import sys
import threading
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from tests.unit.playbooks.files import PLAYBOOKS, program
from tests.unit.playbooks.origin import CONTENT, Mirror, there

fetch = program("roles/checkpoint/files/fetch.py")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "PAUSE", 0)


@pytest.fixture
def checkpoint(manifest: Path) -> Any:
    return fetch.read(manifest)


def refused(checkpoint: Any) -> str:
    """Return the sentence; the program would end here, the threads of other files with it."""
    with pytest.raises(fetch.FetchError) as refusal:
        fetch.bring(checkpoint)
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join()
    return str(refusal.value)


def test_a_whole_checkpoint_appears_and_is_left_alone_after(
    checkpoint: Any, home: Path, mirror: Mirror
) -> None:
    size = sum(map(len, CONTENT.values()))
    home.parents[1].mkdir()
    assert (fetch.look(checkpoint)["complete"], fetch.look(checkpoint)["missing"]) == (False, size)
    fetch.bring(checkpoint)
    assert there(home).items() >= CONTENT.items()
    assert there(home).keys() == {*CONTENT, ".verified"}
    assert (fetch.look(checkpoint)["complete"], fetch.look(checkpoint)["missing"]) == (True, 0)
    mirror.sent.clear()
    fetch.bring(checkpoint)
    assert mirror.sent == []


def test_a_corrupt_file_is_named_with_both_digests_and_thrown_away(
    checkpoint: Any, home: Path, mirror: Mirror
) -> None:
    wrong = b"[]"
    mirror.files["config.json"] = wrong
    said = refused(checkpoint)
    found, listed = hashlib.sha256(wrong).hexdigest(), hashlib.sha256(b"{}").hexdigest()
    assert said.startswith("config.json from ")
    assert f" has SHA-256 {found}, the manifest says {listed}, and it was thrown away: repair it" in said
    assert not home.exists()
    assert not list(checkpoint.part.glob("config.json*"))
    mirror.files["config.json"] = b"{}"
    fetch.bring(checkpoint)
    assert there(home).keys() == {*CONTENT, ".verified"}


def test_a_broken_connection_is_resumed_where_it_ended(checkpoint: Any, home: Path, mirror: Mirror) -> None:
    mirror.breaks_after = 4000
    fetch.bring(checkpoint)
    shard = "shards/model 1.safetensors"
    assert [begin for name, begin in mirror.sent if name == shard] == [
        "bytes=0-",
        "bytes=4000-",
        "bytes=8000-",
    ]
    assert there(home)[shard] == CONTENT[shard]


def test_a_mirror_without_ranges_is_read_from_the_start(checkpoint: Any, home: Path, mirror: Mirror) -> None:
    partial = checkpoint.part / "shards/model 1.safetensors.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT["shards/model 1.safetensors"][:100])
    mirror.ranges = False
    fetch.bring(checkpoint)
    assert there(home).items() >= CONTENT.items()


@pytest.mark.parametrize("beginning", [b"x" * 100, b"x" * 20_000], ids=["wrong", "too long"])
def test_a_beginning_that_is_not_the_files_never_becomes_it(
    checkpoint: Any, home: Path, beginning: bytes
) -> None:
    partial = checkpoint.part / "shards/model 1.safetensors.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(beginning)
    fetch.bring(checkpoint)
    assert there(home).items() >= CONTENT.items()


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "404"), (b"", "ended after 0 of 2 bytes")], ids=["absent", "short"]
)
def test_a_file_that_cannot_be_had_is_named(
    checkpoint: Any, mirror: Mirror, content: bytes | None, reason: str
) -> None:
    if content is None:
        del mirror.files["config.json"]
    else:
        mirror.files["config.json"] = content
    said = refused(checkpoint)
    assert said.startswith("config.json cannot be had from http://127.0.0.1:")
    assert reason in said


@pytest.mark.parametrize(("busy", "asked"), [(4, 5), (5, 5)], ids=["in time", "too late"])
def test_a_busy_mirror_is_asked_again(checkpoint: Any, mirror: Mirror, busy: int, asked: int) -> None:
    mirror.busy = busy
    if busy == asked:
        assert "(it answers 503 Service Unavailable), 0 of 2 bytes are here" in refused(checkpoint)
    else:
        fetch.bring(checkpoint)
    assert [name for name, _ in mirror.sent].count("config.json") == asked


@pytest.mark.parametrize("error", [TimeoutError("timed out"), urllib.error.URLError(TimeoutError())], ids=str)
def test_a_silent_mirror_is_said_to_be_silent(error: Exception) -> None:
    assert fetch.reason(error, 60) == "nothing came for 60 s"


def test_a_checkpoint_that_was_touched_is_read_again_and_mended(
    checkpoint: Any, home: Path, mirror: Mirror
) -> None:
    fetch.bring(checkpoint)
    (home / "config.json").write_bytes(b"{")
    (home / "stray").touch()
    assert not fetch.look(checkpoint)["complete"]
    mirror.sent.clear()
    fetch.bring(checkpoint)
    assert mirror.sent == [("config.json", "bytes=1-")]
    assert there(home).keys() == {*CONTENT, ".verified"}


@pytest.mark.parametrize("how", ["written", "replaced"])
def test_a_file_of_the_same_size_is_read_again_alone_and_fetched_where_it_differs(
    checkpoint: Any, home: Path, mirror: Mirror, how: str
) -> None:
    fetch.bring(checkpoint)
    mirror.sent.clear()
    shard = home / "shards/model 1.safetensors"
    was = shard.stat()
    if how == "replaced":
        shard.rename(home / "aside")
    shard.write_bytes(bytes(was.st_size))
    assert not fetch.look(checkpoint)["complete"]
    fetch.bring(checkpoint)
    assert mirror.sent == [("shards/model 1.safetensors", "bytes=0-")]
    assert there(home).items() >= CONTENT.items()
    assert there(home).keys() == {*CONTENT, ".verified"}


def test_another_manifest_of_the_same_revision_does_not_pass(checkpoint: Any, home: Path) -> None:
    fetch.bring(checkpoint)
    (home / ".verified").write_text("0" * 64, encoding="ascii")
    assert not fetch.look(checkpoint)["complete"]


class _Full(io.FileIO):
    """A file on a disk without space."""

    def write(self, _: object) -> int:
        """Refuse as the kernel does."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("name", ["shards/model 1.safetensors", "config.json"], ids=["write", "flush"])
def test_a_full_disk_is_not_blamed_on_the_mirror(
    checkpoint: Any, mirror: Mirror, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, full = Path.open, checkpoint.part / f"{name}.partial"
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, *how, **more: (
            io.BufferedRandom(_Full(path, "a+")) if path == full else opened(path, *how, **more)
        ),
    )
    reason = "No space left on device"
    assert refused(checkpoint) == (
        f"{full} cannot be stored on this host ({reason}): free some space there, then run again"
    )
    assert [begin for sent, begin in mirror.sent if sent == name] == ["bytes=0-"]


@pytest.mark.parametrize(
    ("code", "way_out"),
    [
        (errno.EDQUOT, "free some space there"),
        (errno.ENOLCK, "let its NFS server give locks, as NFSv4 does"),
        (errno.EIO, "mend its disk"),
    ],
)
def test_what_a_disk_refuses_has_its_own_way_out(code: int, way_out: str) -> None:
    with pytest.raises(fetch.FetchError) as told, fetch.stored("/there"):
        raise OSError(code, os.strerror(code))
    assert str(told.value) == (
        f"/there cannot be stored on this host ({os.strerror(code)}): {way_out}, then run again"
    )


def test_what_the_disk_refuses_ends_the_program_at_once_with_one_sentence(
    manifest: Path, home: Path, mirror: Mirror
) -> None:
    mirror.silent = "config.json"
    done = subprocess.run(
        [
            *("prlimit", "--fsize=4000", sys.executable),
            *(PLAYBOOKS / "roles/checkpoint/files/fetch.py", "fetch", manifest),
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    sentence = done.stdout.splitlines()[-1]
    assert sentence.startswith(f"{home}.part/shards/model 1.safetensors.partial cannot be stored")
    assert "(File too large): mend its disk, then" in sentence

"""Where secrets lie: on this machine, on the hosts, and in every process while something goes on."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tarfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from components import processes
from components.hosts import ssh
from components.plugin.wire import SECRET, SIGNATURE
from tests.lab.spellings import SHORTEST, found, patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from components.hosts.record import HostRecord

HOST_FOLDERS: Final = "/etc /var /root /home /run /tmp /dev/shm /srv /opt /usr/local"
_OWN_FOLDERS: Final = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/log", "/root/.ansible", "/root/.pulumi")
_POLL: Final = 0.1
"""Seconds between two looks at all processes; a run of Ansible takes seconds, a module a tenth."""


class Held(NamedTuple):
    """A file of a host that holds a secret.

    Attributes:
        path: Where it lies.
        mode: Its mode and owner, as `600:root`.
    """

    path: str
    mode: str


class Shown(NamedTuple):
    """A process that showed a secret.

    Attributes:
        program: What it runs.
        place: `argument`, or the name of the variable.
        user: Its user id.
        secrets: Names of the secrets.
    """

    program: str
    place: str
    user: int
    secrets: tuple[str, ...]


def in_state(exported: str) -> dict[str, str]:
    """Return every secret of a state that was exported with its secrets shown, under made-up names."""
    texts = {text for value in _secrets(json.loads(exported)) for text in _texts(value)}
    return {f"secret {number} of the state": text for number, text in enumerate(sorted(texts))}


def here(secrets: Mapping[str, str], *more: Path) -> list[str]:
    """Return the files that hold a secret, in this machine's folders for passing things and in more."""
    folders = [place for place in (*map(Path, _OWN_FOLDERS), *more) if place.exists()]
    grep = ["grep", "-rslaF", "--devices=skip", "--file=-", *map(str, folders)]
    # Bytes are compared, so that no locale slows it down.
    done = subprocess.run(
        grep,
        input=patterns(secrets.values()),
        env=os.environ | {"LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    packed = [file for folder in more for file in folder.rglob("*.gz") if _packed_holds(secrets, file)]
    return sorted({*done.stdout.splitlines(), *map(str, packed)})


def on(host: HostRecord, secrets: Mapping[str, str]) -> list[Held]:
    """Return the files of a host that hold a secret; the engine's wheels are not looked at."""
    names = ssh.run(
        host,
        f"LC_ALL=C grep -rslaF --devices=skip --exclude-dir=site-packages --null --file=- {HOST_FOLDERS}"
        " 2>/dev/null | xargs -0r stat --format='%a:%U %n'",
        deadline=120,
        stdin=patterns(secrets.values()),
    )
    held = (line.partition(" ") for line in names.out.splitlines())
    return sorted({Held(path, mode) for mode, _, path in held})


def in_journal(host: HostRecord, secrets: Mapping[str, str]) -> list[str]:
    """Return the fields of a host's journal that hold a secret."""
    command = "exec 3<&0; journalctl --all --no-pager --output=export </dev/null | grep -aF --file=/dev/fd/3"
    return ssh.run(host, command, deadline=60, stdin=patterns(secrets.values())).out.splitlines()


class Watch:
    """Looks at all processes while something goes on, those of lab hosts among them."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.secrets = dict(secrets)
        self.seen: set[Shown] = set()
        self._known: dict[int, bytes] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(_POLL):
            for pid in processes.pids():
                words = processes.shown(pid, "cmdline") or b""
                # A process that runs another program shows other words.
                if self._known.get(pid) != words:
                    self._known[pid] = words
                    self.seen.update(_shown(pid, words, self.secrets))


def _shown(pid: int, words: bytes, secrets: Mapping[str, str]) -> Iterator[Shown]:
    variables = processes.shown(pid, "environ") or b""
    if names := found(secrets, words):
        yield Shown(_program(words), "argument", _user(pid), tuple(names))
    if not found(secrets, variables):
        return
    for variable in variables.split(b"\0"):
        if names := found(secrets, variable):
            yield Shown(_program(words), variable.partition(b"=")[0].decode(), _user(pid), tuple(names))


def _program(words: bytes) -> str:
    """Return the first two words of a command: an interpreter and its program."""
    return " ".join(Path(word).name for word in words.decode(errors="replace").split("\0")[:2])


def _user(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:  # it has ended
        return -1


def _packed_holds(secrets: Mapping[str, str], file: Path) -> bool:
    if tarfile.is_tarfile(file):
        with tarfile.open(file) as archive:
            members = [archive.extractfile(each) for each in archive if each.isfile()]
            return any(found(secrets, each.read()) for each in members if each)
    return bool(found(secrets, gzip.decompress(file.read_bytes())))


def _secrets(value: Any) -> Iterator[Any]:
    """Yield what stands behind the mark of a secret, anywhere in a state."""
    if isinstance(value, dict) and value.get(SIGNATURE) == SECRET:
        yield json.loads(value["plaintext"])
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _secrets(each)


def _texts(value: Any) -> Sequence[str]:
    if isinstance(value, dict | list):
        return [
            text for each in (value.values() if isinstance(value, dict) else value) for text in _texts(each)
        ]
    return [value] if isinstance(value, str) and len(value) >= SHORTEST else []

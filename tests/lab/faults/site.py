"""Two small prepared hosts beside a mirror that a test can spoil, and what is brought onto them."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from components.hosts import ssh
from components.hosts.playbook import Playbook, PlaybookInputs, PlaybookOutputs
from components.machines.lab import cache, links, names, processes
from components.machines.lab.commands import call
from components.machines.lab.host import Host
from stacks.errors import EffectError
from tests.factories import playbooks
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from components.hosts.record import HostRecord
    from components.machines.lab.booted import MachineInputs, MachineOutputs
    from tests.lab.faults.origin import Mirror

RELEASE = "9.9.9"
WHEEL = f"/wheels/vllm-{RELEASE}-py3-none-any.whl"
CHECKPOINTS = "/var/lib/rackstack/checkpoints"


@dataclass
class Site:
    """A fleet of two hosts; faults are made on the second.

    Attributes:
        fleet: Its identity.
        made: What each machine was asked for with, and what it is.
        folder: Folder of the operator for locks.
    """

    fleet: str
    made: list[tuple[MachineInputs, MachineOutputs]]
    folder: Path

    @property
    def hosts(self) -> list[HostRecord]:
        """Both hosts, in order."""
        return [outputs.record for _, outputs in self.made]

    @property
    def bad(self) -> HostRecord:
        """The host that a test does something to."""
        return self.hosts[1]

    @cached_property
    def link(self) -> str:
        """This machine's end of the bad host's link."""
        return names.link(self.fleet, self.made[1][0].index)

    def cut_power(self) -> None:
        """End the bad host as a power cut would."""
        for pid in processes.by_machine()[names.machine(self.fleet, self.bad.name)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def power_on(self) -> None:
        """Boot the bad host again from its own disk; that it runs is fine."""
        asked, outputs = self.made[1]
        Host().update(asked, asked, outputs, FakeRun())

    def unplug(self) -> None:
        """Cut the network to the bad host."""
        call("ip", "link", "set", self.link, "down")

    def plug(self) -> None:
        """Heal the network to the bad host."""
        asked, _ = self.made[1]
        links.attach(self.link, asked.bridge)

    def inputs(
        self, playbook: str, variables: Mapping[str, Any], hosts: Sequence[HostRecord] = ()
    ) -> PlaybookInputs:
        """Return the inputs of a real playbook."""
        return playbooks.inputs(hosts or self.hosts, self.fleet, playbook, variables)

    def prepare(self, *hosts: HostRecord, **changes: Any) -> PlaybookInputs:
        """Return the inputs of the real `prepare`."""
        wanted = {"prepare_packages": ["g++"], "prepare_memory_mib": 128}
        return self.inputs("prepare", wanted | changes, hosts)

    def checkpoint(
        self, mirror: Mirror, name: str, files: Mapping[str, bytes], **more: Any
    ) -> PlaybookInputs:
        """Put a checkpoint on the mirror and return the inputs of the real `checkpoint`."""
        mirror.files |= {f"/checkpoints/{name}/1/{path}": content for path, content in files.items()}
        wanted = {
            "checkpoint_home": f"{CHECKPOINTS}/{name}/1",
            "checkpoint_url": f"{mirror.url}/checkpoints/{name}/1/",
            "checkpoint_files": [
                {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                for path, content in files.items()
            ],
            "checkpoint_patience_seconds": 2,
        }
        return self.inputs("checkpoint", wanted | more).model_copy(update={"tells": True})

    def engine(self, mirror: Mirror, name: str) -> PlaybookInputs:
        """Put an engine of two wheels, uv and a small one, on the mirror; return the real inputs."""
        uv = _uv()
        mirror.files |= {f"/wheels/{uv.name}": uv.read_bytes(), WHEEL: _wheel()}
        lock = self.folder / f"{name}.lock"
        lock.write_text(
            _stanza(f"uv=={_version(uv)}", uv.read_bytes()) + _stanza(f"vllm=={RELEASE}", _wheel())
        )
        wanted = {
            "engine_name": name,
            "engine_release": RELEASE,
            "engine_home": f"/opt/rackstack/engines/{name}",
            "engine_lock": str(lock),
            "engine_lock_digest": hashlib.sha256(lock.read_bytes()).hexdigest(),
            "engine_wheels_url": f"{mirror.url}/wheels/",
            "engine_patience_seconds": 2,
        }
        return self.inputs("engine", wanted)


@dataclass
class Moment(FakeRun):
    """A run during which something happens once: when a line of progress holds a text."""

    when: str = ""
    then: Callable[[], object] = field(default=lambda: None)
    come: bool = False

    def progress(self, message: str) -> None:
        """Remember a line, and do what belongs to its moment."""
        super().progress(message)
        if self.when in message and not self.come:
            self.come = True
            self.then()


def refusal(inputs: PlaybookInputs, run: FakeRun | None = None) -> str:
    """Run a playbook that must fail and return the whole sentence."""
    with pytest.raises(EffectError) as failed:
        Playbook().create(inputs, run or FakeRun())
    return str(failed.value)


def settle(inputs: PlaybookInputs, run: FakeRun | None = None) -> PlaybookOutputs:
    """Run a playbook that must work and leave nothing that differs; return its outputs."""
    made = Playbook().create(inputs, run or FakeRun())
    assert Playbook().read(inputs, made, FakeRun()).drift == {}
    return made


def on(host: HostRecord, command: str, seconds: float = 30) -> str:
    """Return what a command on a host prints; it must succeed."""
    answer = ssh.run(host, command, deadline=seconds)
    assert answer.code == 0, answer.out + answer.err
    return answer.out.strip()


@contextmanager
def spoilt(host: HostRecord, command: str, way_back: str) -> Iterator[None]:
    """Change a host for the time of the block."""
    on(host, command)
    try:
        yield
    finally:
        on(host, way_back)


def _uv() -> Path:
    found = sorted(cache.root().glob("wheels/*/uv-*-manylinux*.whl"))
    if not found:
        pytest.fail("these tests need the wheel of uv from the lab's mirror; `make up` brings it")
    return found[0]


def _version(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def _wheel() -> bytes:
    folder = f"vllm-{RELEASE}.dist-info"
    contents = {
        "vllm.py": f'__version__ = "{RELEASE}"\n{"#" * 200_000}\n',
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {RELEASE}\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{folder}/RECORD": f"vllm.py,,\n{folder}/METADATA,,\n{folder}/WHEEL,,\n{folder}/RECORD,,\n",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in contents.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return packed.getvalue()


def _stanza(pin: str, content: bytes) -> str:
    return f"{pin} \\\n    --hash=sha256:{hashlib.sha256(content).hexdigest()}\n"

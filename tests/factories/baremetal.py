"""Machines of a person's own, in memory: each answers the programs that are run on it."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from components.hosts.ssh import Answer
from components.machines.baremetal import hold
from components.machines.baremetal.host import HostInputs
from stacks.errors import Unreachable
from tests.factories.hosts import KEY

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from components.hosts.record import HostRecord

ADDRESS = "10.0.0.1"
OTHER = {
    "fleet": "other-3fa2c1",
    "name": "node-0",
    "owner": "ann@ops",
    "since": "2026-11-20T08:00:00Z",
    "until": "2026-12-04T08:00:00Z",
    "incarnation": "i1",
    "machine": f"id-of-{ADDRESS}",
}
"""The lease of another fleet."""


@dataclass
class Machine:
    """One machine.

    Attributes:
        folder: Where its lease lies.
        facts: What its survey says, beside the lease.
        fleets: Fleets that have a folder on it.
        disk_lacks: What its disks lack.
        answers: Whether it does.
        err: What it says instead of all of it, with status 1; empty: nothing.
    """

    folder: Path
    facts: dict[str, Any]
    fleets: list[str] = field(default_factory=list)
    disk_lacks: list[str] = field(default_factory=list)
    answers: bool = True
    err: str = ""

    @property
    def lease(self) -> dict[str, Any] | None:
        """The lease on it; None where there is none."""
        return json.loads(self._text()) if self._text() else None

    def write(self, lease: dict[str, Any]) -> None:
        """Put a lease on it, as another fleet would."""
        (self.folder / "lease").write_text(json.dumps(lease))

    def run(self, command: str, stdin: str, patch: pytest.MonkeyPatch, capsys: Any) -> Answer:
        """Answer a command as the machine would."""
        if self.err:
            return Answer(1, "", self.err)
        if not stdin:
            shown = [f"/var/lib/rackstack/{each}" for each in self.fleets if f"/{each} " in command]
            return Answer(0, f"{' '.join(shown)}\x1e{self._text()}", "")
        if "def disk_lacks" in stdin:
            return Answer(0, json.dumps(self.disk_lacks), "")
        if "def take" not in stdin:
            return Answer(0, json.dumps(self.facts | {"lease": self._text(), "fleets": self.fleets}), "")
        patch.setattr(hold, "LEASE", self.folder / "lease")
        words = shlex.split(command)
        code = hold.main(*words[words.index("-") + 1 :])
        return Answer(code, capsys.readouterr().out, "")

    def _text(self) -> str:
        file = self.folder / "lease"
        return file.read_text() if file.exists() else ""


@dataclass
class World:
    """Machines by address."""

    folder: Path
    patch: pytest.MonkeyPatch
    capsys: Any
    machines: dict[str, Machine] = field(default_factory=dict)

    def add(self, address: str, now: float, **facts: Any) -> Machine:
        """Have a machine at an address, or a second address of one that is there (`as_well`)."""
        home = self.folder / address
        home.mkdir()
        plain = {
            "arch": "x86_64",
            "cpus": 2,
            "memory_mib": 4096,
            "clock": int(now),
            "machine": f"id-of-{address}",
            "on_bus": {},
            "gpus": None,
            "gpus_complaint": "",
            "interface": "eth0",
        }
        self.machines[address] = Machine(home, plain | facts)
        return self.machines[address]

    def run(self, host: HostRecord, command: str, *, deadline: float, stdin: str = "") -> Answer:
        """Stand in for `components.hosts.ssh.run`."""
        del deadline
        machine = self.machines[host.address]
        if not machine.answers:
            raise Unreachable(f"host {host.name} did not answer over SSH")
        return machine.run(command, stdin, self.patch, self.capsys)


def claim(name: str = "node-0", address: str = ADDRESS, **changed: Any) -> HostInputs:
    """Return what a machine without accelerators is claimed with."""
    fields: dict[str, Any] = {
        "fleet": "f-000000",
        "name": name,
        "address": address,
        "port": 22,
        "user": "root",
        "identity_file": "/nonexistent/key",
        "host_key": KEY,
        "type": "plain-host",
        "arch": "x86_64",
        "vendor": "cpu",
        "accelerator": "cpu",
        "gpus": 1,
        "memory_mib": 1024,
        "brought": {},
    }
    return HostInputs(**(fields | changed))

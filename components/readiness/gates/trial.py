"""All ranks of an engine exchange data once, in the engine's own environment; nothing of it stays."""

from __future__ import annotations

import json
import re
import shlex
import threading
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from components.hosts.markers import UNIT as RANK
from components.readiness.gates.observe import of_each
from stacks.errors import EffectError, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.hosts.record import HostRecord
    from components.hosts.ssh import Answer

_FROZEN = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
PROGRAM: Final = Path(__file__).parent / "exchange.py"
RANK_UNIT: Final = (
    Path(__file__).resolve().parents[3] / "playbooks/roles/serve/templates/rackstack-rank.service.j2"
)
UNIT: Final = "rackstack-collectives.service"
_STOP: Final = f"systemctl stop {UNIT} 2>/dev/null"
ASK_SECONDS: Final = 15.0
STOP_SECONDS: Final = 20.0
"""A rank is given ten to end."""
END_SECONDS: Final = 40.0
"""For a rank of the engine: its unit's own limit, and systemd's after that."""
_END: Final = f"systemctl stop {RANK} && ! ps -wweo stat=,cgroup= | grep -v ^Z | grep -q /{RANK}"
"""To systemd a unit has stopped even where a process hangs in the driver, which no signal ends."""
GRACE_SECONDS: Final = 5.0
"""For the other hosts, once the ranks of one failed: they see it at once, or wait for it without end."""
LATE: Final = f"it came to no end within {{seconds}}; see `journalctl -u {UNIT}` there"
INTERRUPTED: Final = "the collectives were interrupted; run `pulumi up` again"
_IDLE: Final = (3, 4)
"""Exit statuses of `systemctl is-active` for a unit that does not run, and for one that is not there."""
_SILENT: Final = f"it said nothing of its rank within {{seconds}}; see `systemctl status {RANK}` there"
_MARGIN: Final = 15.0
"""Seconds by which the unit ends before nobody waits for it any more."""
_NOT_FOR_IT: Final = {"Type", "Restart", "SyslogIdentifier", "LogRateLimitIntervalSec"}
"""What concerns only a unit that is a service and has a journal."""
_PROPERTY: Final = re.compile(r"^(\w+)=([^{\n]*)$", re.MULTILINE)
"""A line of the unit that is the same for all ranks."""


class Member(BaseModel):
    """One host of an engine.

    Attributes:
        host: Its name.
        first: World rank of its first GPU.
        local: Ranks on it.
        environment: What its rank is started with.
    """

    model_config = _FROZEN

    host: str
    first: int
    local: int
    environment: dict[str, str]


class Exchange(BaseModel):
    """What the ranks of one engine do.

    Attributes:
        engine: serve, prefill or decode.
        backend: nccl, or gloo for an engine that computes on cores.
        python: The engine's own Python on every host.
        address: Where the ranks meet: the head's address among the members.
        port: TCP port there.
        members: Its hosts in rank order.
    """

    model_config = _FROZEN

    engine: str
    backend: Literal["nccl", "gloo"]
    python: str
    address: str
    port: int
    members: list[Member]

    @property
    def world(self) -> int:
        """Return how many ranks there are."""
        return sum(member.local for member in self.members)


class Measured(BaseModel):
    """What one collective did with messages of one size.

    Attributes:
        collective: all_reduce or alltoall.
        size: Bytes of a rank's message.
        busbw: Bus bandwidth in GB/s, as nccl-tests counts it.
        wrong: Values that are not what they must be, over all ranks.
    """

    model_config = _FROZEN

    collective: str
    size: int
    busbw: float
    wrong: int


class Told(BaseModel):
    """What the ranks of one host told.

    Attributes:
        code: Exit status of the first that failed; 0: none did.
        log: NCCL's lines that tell its way.
        measured: What was measured; only the first host knows.
        error: The last lines of what failed.
    """

    model_config = _FROZEN

    code: int
    log: str
    measured: list[Measured]
    error: str


def held_by(hosts: Sequence[HostRecord], stop: threading.Event) -> list[str]:
    """Return the hosts on which ranks of this fleet run already.

    Raises:
        Refusal: A host does not say, or nobody waits for it any more.
    """
    found = _all_of(hosts, f"systemctl is-active --quiet {RANK}", ASK_SECONDS, stop)
    if odd := [f"{name}: {_odd(answer)}" for name, answer in found.items() if answer.code not in {0, *_IDLE}]:
        raise Refusal("\n".join(odd))
    return [name for name, answer in found.items() if not answer.code]


def _odd(answer: Answer) -> str:
    said = answer.err.strip() or answer.out.strip() or "nothing"
    return (
        f"whether its rank runs is unknown: `systemctl is-active {RANK}` ends with status {answer.code} and "
        f"says {said}; run that there"
    )


def end(hosts: Sequence[HostRecord], stop: threading.Event) -> None:
    """End the ranks of this fleet on hosts where they run.

    Raises:
        Refusal: A host does not say that they ended, or nobody waits for it any more.
    """
    found = _all_of(hosts, _END, END_SECONDS, stop)
    if going := [name for name, answer in found.items() if answer.code]:
        raise Refusal(
            f"{RANK} does not end on {', '.join(going)}: see `systemctl status {RANK}` there, reboot a host "
            "where a process hangs in the driver, then run `pulumi up` again"
        )


def _all_of(
    hosts: Sequence[HostRecord], line: str, seconds: float, stop: threading.Event
) -> dict[str, Answer]:
    found = of_each(hosts, lambda host: _run(host, line, seconds), seconds, stop, _SILENT)
    if stop.is_set():
        raise Refusal(INTERRUPTED)
    silent = [f"{name}: {answer}" for name, answer in found.items() if isinstance(answer, EffectError)]
    if silent:
        raise Refusal("\n".join(silent))
    return {name: answer for name, answer in found.items() if not isinstance(answer, EffectError)}


def run(
    exchange: Exchange, hosts: Sequence[HostRecord], seconds: float, stop: threading.Event
) -> dict[str, Told | EffectError]:
    """Return host name → what its ranks told, or why they told nothing.

    Where ranks fail, only their hosts are in it: the others waited for them. No rank is left anywhere.

    Args:
        exchange: What they do.
        hosts: The hosts of the fleet.
        seconds: How long it may take.
        stop: Set when nobody wants to wait any longer.
    """
    members = {member.host: member for member in exchange.members}
    concerned = [host for host in hosts if host.name in members]
    end = _End(stop)

    def ask(host: HostRecord) -> Told:
        try:
            answer = _run(host, command(exchange, members[host.name], seconds), seconds, PROGRAM)
            told = _told(host, answer)
        except EffectError as fault:
            end.failed(host.name, fault)
            raise
        if told.code:
            end.failed(host.name, told)
        return told

    found = of_each(concerned, ask, seconds, end, LATE)
    failed = dict(end.failures)
    if failed or end.is_set() or any(isinstance(each, EffectError) for each in found.values()):
        _stop(concerned)
    return failed or found


class _End(threading.Event):
    """Is set when nobody wants to wait any longer, and soon after ranks failed for whom the others wait."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__()
        self.failures: dict[str, Told | EffectError] = {}
        self._stop, self._since = stop, float("inf")

    def failed(self, host: str, how: Told | EffectError) -> None:
        """Remember that ranks failed."""
        self.failures[host] = how
        self._since = min(self._since, time.monotonic())

    def is_set(self) -> bool:
        return self._stop.is_set() or time.monotonic() - self._since > GRACE_SECONDS


def _stop(hosts: Sequence[HostRecord]) -> None:
    """End all ranks; a host that does not answer ends its own when its unit's time is over."""
    of_each(hosts, lambda host: _run(host, _STOP, STOP_SECONDS), STOP_SECONDS, threading.Event(), LATE)


def command(exchange: Exchange, member: Member, seconds: float) -> str:
    """Return what runs the program of its standard input in a unit of its own, whatever ran there before."""
    job = {
        "backend": exchange.backend,
        "address": exchange.address,
        "port": exchange.port,
        "world": exchange.world,
        "first": member.first,
        "local": member.local,
    }
    variables = {**member.environment, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT"}
    words = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", f"--unit={UNIT}"]
    words += [f"--property={line}" for line in rank_properties()]
    words += [f"--property=RuntimeMaxSec={max(1.0, seconds - _MARGIN):.0f}"]
    words += [f"--setenv={key}={value}" for key, value in variables.items()]
    words += [exchange.python, "-", json.dumps(job)]
    return f"{_STOP}; {shlex.join(words)}"


@cache
def rank_properties() -> tuple[str, ...]:
    """Return what the unit of every rank is given, as it stands there: user, limits, what it may not do."""
    service = RANK_UNIT.read_text(encoding="utf-8").partition("[Service]\n")[2]
    return tuple(f"{key}={value}" for key, value in _PROPERTY.findall(service) if key not in _NOT_FOR_IT)


def _told(host: HostRecord, answer: Answer) -> Told:
    try:
        return Told.model_validate_json(answer.out)
    except ValidationError:
        last = (answer.err.strip().splitlines() or [f"it ended with status {answer.code}"])[-1]
        raise Refusal(
            f"the ranks of host {host.name} told nothing that can be read: {last}; "
            f"see `journalctl -u {UNIT}` there"
        ) from None


def _run(host: HostRecord, line: str, seconds: float, program: Path | None = None) -> Answer:
    from components.hosts import ssh  # noqa: PLC0415 -- brings paramiko, which a preview does not need

    stdin = program.read_text(encoding="utf-8") if program else ""
    return ssh.run(host, line, deadline=seconds, stdin=stdin)

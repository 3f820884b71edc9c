"""The state of one rank's systemd unit: the command that prints it, and what it printed. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from components.hosts.markers import UNIT
from components.readiness import journal

if TYPE_CHECKING:
    from components.readiness.journal import Line

STOP: Final = f"systemctl stop {UNIT}"
MOST_LINES: Final = 4000
"""Lines of a journal; an engine that fails while starting prints some hundreds."""

_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "ExecMainCode",
    "ExecMainStatus",
    "NRestarts",
    "InvocationID",
    "ExecMainExitTimestamp",
)
_KILLED = {"2", "3"}  # CLD_KILLED, CLD_DUMPED
_RECORD = "\x1e"


@dataclass(frozen=True)
class Unit:
    """What systemd says of one rank.

    Attributes:
        load: LoadState, `loaded` where the unit is installed.
        active: ActiveState.
        sub: SubState.
        result: Result of the last run.
        killed: Whether a signal ended the main process.
        status: Exit status of the main process, or the signal that ended it.
        restarts: How often systemd started it again.
        invocation: InvocationID of the last run; empty before the first.
        exited: When the main process ended, in seconds since the epoch; None while it runs.
    """

    load: str
    active: str
    sub: str
    result: str
    killed: bool
    status: int
    restarts: int
    invocation: str
    exited: float | None

    @property
    def alive(self) -> bool:
        """Return whether its first process still starts or runs."""
        if self.restarts or self.sub in {"auto-restart", "exited"}:
            return False
        return self.active in {"active", "activating", "reloading"}

    @property
    def end(self) -> str:
        """Return how it ended, as the end of a sentence that starts with the rank."""
        if self.load != "loaded":
            return "has no unit on its host"
        if not self.invocation:
            return "was never started"
        if self.result == "oom-kill":
            return "was killed because its host ran out of memory"
        if self.result == "timeout":
            return "did not start or stop within its unit's time limit"
        if self.killed:
            return f"was ended by signal {self.status}"
        return f"ended with exit status {self.status}"


def look_command() -> str:
    """Return the shell command that prints the state of the unit and the last line of its journal."""
    wanted = ",".join(_PROPERTIES)
    return (
        f"systemctl show {UNIT} --timestamp=us+utc --property={wanted}; printf '\\036'; "
        f"journalctl --unit={UNIT} --output=short-unix --no-pager --quiet --lines=1"
    )


def looked(answer: str) -> tuple[Unit, str | None]:
    """Return the unit and its last words from the answer to `look_command`."""
    shown, _, tail = answer.partition(_RECORD)
    return _unit(shown), journal.last_words(journal.lines(tail))


def journal_command(invocation: str) -> str:
    """Return the shell command that prints what one run of the unit wrote."""
    match = shlex.quote(f"_SYSTEMD_INVOCATION_ID={invocation}")
    return f"journalctl --output=short-unix --no-pager --quiet --lines={MOST_LINES} {match}"


def journal_lines(answer: str) -> tuple[Line, ...]:
    """Return the lines from the answer to `journal_command`."""
    return journal.lines(answer)


def _unit(shown: str) -> Unit:
    said = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    return Unit(
        load=said.get("LoadState", ""),
        active=said.get("ActiveState", ""),
        sub=said.get("SubState", ""),
        result=said.get("Result", ""),
        killed=said.get("ExecMainCode", "0") in _KILLED,
        status=int(said.get("ExecMainStatus") or 0),
        restarts=int(said.get("NRestarts") or 0),
        invocation=said.get("InvocationID", ""),
        exited=_seconds(said.get("ExecMainExitTimestamp", "")),
    )


def _seconds(shown: str) -> float | None:
    """Return a time like `Tue 2026-12-01 14:02:07.123456 UTC` in seconds since the epoch; None if unset."""
    if not shown or shown == "n/a":
        return None
    _, day, clock, _ = shown.split()
    return datetime.fromisoformat(f"{day} {clock}").replace(tzinfo=UTC).timestamp()

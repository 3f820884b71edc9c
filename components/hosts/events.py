"""What ansible-runner's events mean: lines of progress while a playbook runs, a verdict at its end. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

LONGEST = 1500  # characters of a quoted message
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"^(?:\[ERROR\]:|ERROR!)\s*(.+)")
# Behind a jump host ssh knows no address, and ends with what follows from what it said before.
_FAREWELL = re.compile(
    r"Shared connection to \S+ closed\.|kex_exchange_identification: |.*\bUNKNOWN port 65535\b"
)
_NO_WAY = re.compile(r"^stdio forwarding( request)? failed", re.IGNORECASE | re.MULTILINE)
_NO_NEWS = re.compile(r"^(Task failed: )?(Data could not be sent to .+ can be reached over ssh: )?")
_SENTENCES = {"fail", "assert"}
_COMMANDS = {"command", "shell", "raw", "script"}


@dataclass(frozen=True)
class RunVerdict:
    """How a run ended.

    Attributes:
        began: Whether any task was started on any host.
        failures: One sentence per thing that went wrong, the first failure first; empty after a good run.
    """

    began: bool
    failures: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Return whether every expected host did its work and nothing went wrong."""
        return not self.failures


@dataclass
class _Part:
    """A role while it runs."""

    role: str
    since: datetime
    hosts: set[str] = field(default_factory=set)
    changed: int = 0
    failed: list[str] = field(default_factory=list)


class Story:
    """One run as it is told by its events."""

    def __init__(self) -> None:
        self._part: _Part | None = None
        self._began = False
        self._stats: Mapping[str, Mapping[str, int]] | None = None
        self._failed: dict[str, str] = {}
        self._swallowed: dict[str, str] = {}
        self._dark: dict[str, str] = {}
        self._errors: list[str] = []

    def hear(self, event: Mapping[str, Any]) -> list[str]:
        """Take in the next event, as ansible-runner gives it; return the lines to show for it."""
        name, data = event["event"], event.get("event_data") or {}
        if name == "verbose":
            self._overhear(event.get("stdout", ""))
        elif name in ("playbook_on_task_start", "playbook_on_handler_task_start"):
            return self._turn_to(data.get("role", ""), event)
        elif name == "runner_on_start":
            self._began = True
            return _step(data)
        elif name == "playbook_on_stats":
            self._stats = data
            return self._turn_to("", event)
        elif name == "runner_retry":
            return _waiting(data)
        elif name in ("runner_on_ok", "runner_on_failed", "runner_on_unreachable"):
            self._note_result(name, data)
        return []

    def verdict(self, hosts: Sequence[str], ending: str | None = None) -> RunVerdict:
        """Judge the run.

        Args:
            hosts: Every host that had to take part.
            ending: Why the run was broken off, as a sentence; None when it ended by itself.
        """
        if ending is not None:
            return RunVerdict(self._began, (ending,))
        return RunVerdict(self._began, tuple(self._failures(hosts)))

    def _overhear(self, stdout: str) -> None:
        for line in _COLOURS.sub("", stdout).splitlines():
            if found := _ERROR.match(line):
                self._errors.append(found[1])

    def _turn_to(self, role: str, event: Mapping[str, Any]) -> list[str]:
        """Close the role that ran until now, with one line, where another one begins."""
        now, part = datetime.fromisoformat(event["created"]), self._part
        if part is not None and part.role == role:
            return []
        self._part = _Part(role, now) if role else None
        return [_summary(part, now)] if part is not None else []

    def _note_result(self, name: str, data: Mapping[str, Any]) -> None:
        host, result = data["host"], data.get("res") or {}
        if self._part is not None:
            self._part.hosts.add(host)
            self._part.changed += bool(result.get("changed"))
            self._part.failed += [host] * (name != "runner_on_ok")
        if name == "runner_on_unreachable":
            self._dark[host] = _silence(_lost_at(result))
        elif name == "runner_on_failed":
            kept = self._swallowed if data.get("ignore_errors") else self._failed
            # A rescue may fail on purpose to say it better: the host's last word counts, in its first place.
            kept[host] = _failure(data, result)

    def _failures(self, hosts: Sequence[str]) -> Iterable[str]:
        if self._stats is None:
            reason = self._errors[0] if self._errors else "Ansible ended without a word"
            return [f"the playbook did not finish on any host: {reason.rstrip('.')}"]
        return [
            *_grouped({host: why for host, why in self._failed.items() if self._count("failures", host)}),
            *_grouped({host: _lost(why) for host, why in self._dark.items()}),
            *_grouped({h: f"a failure was rescued: {self._told(h)}" for h in hosts if self._rescued_only(h)}),
            *_grouped(
                {h: f"a failure was ignored: {self._told(h)}" for h in hosts if self._count("ignored", h)}
            ),
        ] or _grouped({host: self._absence(host) for host in hosts if self._absence(host)})

    def _rescued_only(self, host: str) -> bool:
        return bool(self._count("rescued", host) and not self._count("failures", host))

    def _told(self, host: str) -> str:
        return self._swallowed.get(host) or self._failed.get(host) or "no reason given"

    def _absence(self, host: str) -> str:
        if self._count("failures", host) or self._count("dark", host):
            return "failed without a reason"
        if not self._count("processed", host):
            return "took no part in the run"
        return "" if self._count("ok", host) else "had nothing to do in the run"

    def _count(self, column: str, host: str) -> int:
        return (self._stats or {}).get(column, {}).get(host, 0)


def _step(data: Mapping[str, Any]) -> list[str]:
    if str(data.get("task_action", "")).endswith("validate_argument_spec"):
        return []  # Ansible's own first task of every role: it says nothing about the host
    return [": ".join(filter(None, (data["host"], data.get("role"), _lowered(data["task"]))))]


def _waiting(data: Mapping[str, Any]) -> list[str]:
    """Tell what a task that is tried again waits for, where it says so."""
    words = _last_line(str((data.get("res") or {}).get("stdout", "")))
    return [": ".join(filter(None, (data["host"], data.get("role"), f"waiting: {words}")))] if words else []


def _summary(part: _Part, now: datetime) -> str:
    seconds = f"{(now - part.since).total_seconds():.0f} s"
    if part.failed:
        return f"{part.role}: failed on {', '.join(dict.fromkeys(part.failed))} after {seconds}"
    hosts = "1 host" if len(part.hosts) == 1 else f"{len(part.hosts)} hosts"
    return f"{part.role}: done on {hosts} in {seconds}, {part.changed} changed"


def _failure(data: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Return why a task failed; the sentence alone where the task is one that only speaks."""
    action = str(data.get("task_action", "")).rpartition(".")[2]
    result = next((item for item in result.get("results", ()) if item.get("failed")), result)
    if action in _SENTENCES and "censored" not in result:
        said = " ".join(str(result.get("msg", "")).split())[:LONGEST]
        return f"{said}: {result['assertion']}" if said == "Assertion failed" else said
    place = ": ".join(filter(None, (data.get("role"), f"task {data['task']!r} failed")))
    return f"{place}{_cause(action, result)}"


def _cause(action: str, result: Mapping[str, Any]) -> str:
    if "censored" in result:
        return "; its output is withheld because it may hold secrets"
    if action in _COMMANDS and result.get("rc"):
        last = _last_line(result.get("stderr", "")) or _last_line(result.get("stdout", ""))
        return f" with exit status {result['rc']}: {last or 'it printed nothing'}"
    said = _last_line(result.get("module_stderr", "")) or " ".join(str(result.get("msg", "")).split())
    return f": {said[:LONGEST] or 'it gave no reason'}"


def _lost(why: str) -> str:
    return (
        f"did not answer Ansible over SSH: {why}; see that it runs and is reachable from here, then run the"
        " command again"
    )


def _lost_at(result: Mapping[str, Any]) -> str:
    """Return what is said of a lost host; of a loop only the item says it, the whole that it has ended."""
    items = [each for each in result.get("results") or () if each.get("unreachable")]
    return str((items or [result])[-1].get("msg", ""))


def _silence(said: str) -> str:
    """Return why a host is silent, without what Ansible says of every silent host."""
    words = _NO_NEWS.sub("", _last_line(said)).rstrip(".") or "no reason given"
    if words.endswith(":"):  # a connection that breaks under a copy: ssh may end without a word
        words = f"{words.removesuffix(':')}, which gave no reason"
    return "its jump host does not reach it" if _NO_WAY.search(_NO_NEWS.sub("", said)) else words


def _grouped(reasons: Mapping[str, str]) -> list[str]:
    """Return `host, host: reason` sentences, one per different reason, hosts by name."""
    groups: dict[str, list[str]] = {}
    for host, reason in reasons.items():
        groups.setdefault(reason.removeprefix(f"{host}: "), []).append(host)
    return [f"{', '.join(sorted(hosts))}: {reason}" for reason, hosts in groups.items()]


def _last_line(text: str) -> str:
    """Return the last line that says something; of a script, SSH's own farewell comes after its words."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _FAREWELL.match(line)]
    return lines[-1][:LONGEST] if lines else ""


def _lowered(task: str) -> str:
    """Lower a sentence's first letter, not a name's such as `APT`."""
    return task if task[1:2].isupper() else task[:1].lower() + task[1:]

"""What a finished playbook left on a host, what the host shows now, and how both differ. Pure.

One program per host prints everything (`observe.py` of the role `marker`, which wrote the markers with the
same functions); its answer is read here.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.hosts import program
from components.hosts.differences import sentences

UNIT = "rackstack-rank.service"
PROGRAM = Path(__file__).resolve().parents[2] / "playbooks/roles/marker/files/observe.py"
LEASE = "/var/lib/rackstack-lease"
"""Who holds a machine that outlives its fleets; hosts that are made for one have none."""
LAST_WORDS = 160
SEPARATOR = "\x1e"
"""Between what a command prints and the lease after it."""


@dataclass(frozen=True)
class Expected:
    """What one host should show.

    Attributes:
        playbook: The playbook that was run.
        run: Nonce of its last good run.
        roles: Role → digest.
        variables: The fleet's variables and this host's own.
    """

    playbook: str
    run: str
    roles: Mapping[str, str]
    variables: Mapping[str, Any]


@dataclass(frozen=True)
class Marker:
    """The marker of one playbook on one host.

    Attributes:
        run: Nonce of the run that wrote it.
        roles: Role → digest of that run.
        facts: What the roles told.
        watched: Role → kind → key → value at the end of that run, as `observe.py` describes them.
    """

    run: str
    roles: Mapping[str, str]
    facts: Mapping[str, Any] = field(default_factory=dict)
    watched: Mapping[str, Any] = field(default_factory=dict)


def look_command(fleet: str) -> str:
    """Return the command that runs the program on its standard input and prints the whole fleet's state."""
    return program.command("look", fleet)


def marker_command(fleet: str, playbook: str) -> str:
    """Return the shell command that prints only the marker of one host, and who holds it."""
    path = shlex.quote(f"/var/lib/rackstack/{fleet}/{playbook}.json")
    return f"cat {path} 2>/dev/null; {lease_command()}"


def lease_command() -> str:
    """Return the shell command that prints who holds a host."""
    return f"printf '\\036'; cat {LEASE} 2>/dev/null; true"


def marker(answer: str) -> Marker | None:
    """Return the marker in what `marker_command` printed; None where no run has finished on the host."""
    try:
        return _marker(json.loads(answer.partition(SEPARATOR)[0]))
    except (ValueError, RecursionError):
        return None


def holder(answer: str, incarnation: str) -> str:
    """Return who else holds a host, in what either command printed; empty where nobody does.

    Args:
        answer: What was printed.
        incarnation: Of the host, as its record has it.
    """
    text = answer.partition(SEPARATOR)[2].strip()
    if not text:
        return ""
    try:
        match json.loads(text):
            case {"incarnation": str(other), "fleet": str(fleet), "owner": str(owner)}:
                return "" if other == incarnation else f"fleet {fleet} of {owner}"
    except (ValueError, RecursionError):
        pass
    return f"somebody whose lease in {LEASE} cannot be read"


def drift(out: str, err: str, expected: Expected) -> dict[str, str]:
    """Return role → sentence for all that is not as expected.

    Args:
        out: What the look printed.
        err: What it complained of.
        expected: What the host should show.
    """
    try:
        playbooks = json.loads(out)
        seen = playbooks.get(expected.playbook, {})
        found, now = _marker(seen.get("marker")), seen.get("now", {})
    except (ValueError, RecursionError, AttributeError):
        words = (err.strip().splitlines() or ["it printed nothing that can be read"])[-1]
        return {expected.playbook: f"the host could not be looked at: {words[:LAST_WORDS]}"}
    if found is None:
        return {expected.playbook: "no run has finished here"}
    said = _differences(found, now, expected)
    if found.run != expected.run:
        said.setdefault(expected.playbook, []).insert(
            0, f"the last run here was {found.run}, not {expected.run}"
        )
    return {role: "; ".join(told) for role, told in said.items() if told}


def _marker(found: Any) -> Marker | None:
    match found:
        case {"run": str(run), "roles": dict(roles)}:
            facts, watched = (found.get(key) for key in ("facts", "watched"))
            return Marker(
                run,
                roles,
                facts if isinstance(facts, dict) else {},
                watched if isinstance(watched, dict) else {},
            )
    return None


def _differences(found: Marker, now: Mapping[str, Any], expected: Expected) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for role, digest in expected.roles.items():
        if found.roles.get(role) != digest:
            said.setdefault(role, []).append("was last set up from other files")
    for role, left in found.watched.items():
        said.setdefault(role, []).extend(sentences(left, now.get(role, {})))
    if expected.playbook == "serve":
        said.setdefault("serve", []).extend(_other_arguments(now, expected.variables["serve_argv"]))
    return said


def _other_arguments(now: Mapping[str, Any], asked: list[str]) -> Iterator[str]:
    rank = now.get("serve", {}).get("units", {}).get(UNIT) or {}
    shown = rank.get("argv", [])
    # What stands before the arguments is the interpreter that a script's first line names.
    if rank.get("active") == "active" and shown[-len(asked) :] != asked:
        yield f"the process of {UNIT} was started with other arguments: {' '.join(shown)}"

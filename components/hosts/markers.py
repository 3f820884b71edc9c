"""What a finished playbook left on a host, what is live there, and how both differ from what was asked.

One command per host prints everything; it is text here and its answer is parsed here. Pure.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNIT = "rackstack-rank.service"
LINK = "/opt/rackstack/engine"
_SECTION, _WORD = "\x1e", "\x1f"  # ASCII's own separators: no path, argument or JSON text holds them


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
        facts: What that run saw at its end.
    """

    run: str
    roles: Mapping[str, str]
    facts: Mapping[str, Any]


def command(fleet: str, expected: Expected) -> str:
    """Return the shell command that prints the marker and the live state of one host."""
    looks = [marker_command(fleet, expected.playbook), *_live(expected)]
    return "; printf '\\036'; ".join(looks) + "; true"


def marker_command(fleet: str, playbook: str) -> str:
    """Return the shell command that prints only the marker of one host."""
    return f"cat {shlex.quote(f'/var/lib/rackstack/{fleet}/{playbook}.json')} 2>/dev/null"


def marker(answer: str) -> Marker | None:
    """Return the marker in what `command` printed; None where no run has finished on the host."""
    try:
        found = json.loads(answer.split(_SECTION, maxsplit=1)[0])
    except (ValueError, RecursionError):
        return None
    match found:
        case {"run": str(run), "roles": dict(roles)}:
            facts = found.get("facts")
            return Marker(run, roles, facts if isinstance(facts, dict) else {})
    return None


def drift(answer: str, expected: Expected) -> dict[str, str]:
    """Return role → sentence for everything in what `command` printed that is not as expected."""
    found = marker(answer)
    if found is None:
        return {expected.playbook: "no run has finished here"}
    if found.run != expected.run:
        return {expected.playbook: f"the last run here was {found.run}, not {expected.run}"}
    roles = {
        role: "was last set up from other files"
        for role, digest in expected.roles.items()
        if found.roles.get(role) != digest
    }
    sections = answer.split(_SECTION)[1:]
    live = _live_differs(sections, expected, found)
    return roles | ({expected.playbook: live} if live else {})


def _live(expected: Expected) -> list[str]:
    variables = expected.variables
    match expected.playbook:
        case "serve":
            show = f"systemctl show {UNIT} -p ActiveState,SubState,InvocationID,MainPID"
            process = f"/proc/$(systemctl show {UNIT} -p MainPID --value)/cmdline"
            return [show, f"tr '\\000' '\\037' 2>/dev/null <{process}"]
        case "engine":
            python = shlex.quote(f"{variables['engine_home']}/bin/python")
            return [f"readlink {LINK}", f"test -x {python} && echo there"]
        case "checkpoint":
            home = shlex.quote(f"{variables['checkpoint_home']}/")
            return [f"find {home} -type f -printf '%s %P\\n' 2>/dev/null"]
    return []


def _live_differs(sections: list[str], expected: Expected, found: Marker) -> str | None:
    asked = len(_live(expected))
    if len(sections) != asked:
        return f"the host gave half an answer: {len(sections)} of {asked} parts on what is live there"
    return _DIFFERENCES[expected.playbook](sections, expected, found) if sections else None


def _serve_differs(sections: list[str], expected: Expected, found: Marker) -> str | None:
    state = dict(line.split("=", 1) for line in sections[0].split() if "=" in line)
    if state.get("ActiveState") != "active":
        return f"{UNIT} is {state.get('ActiveState', 'unknown')} ({state.get('SubState', 'unknown')})"
    if state.get("InvocationID") != found.facts.get("invocation"):
        return f"{UNIT} was started again since the last run, by something else"
    # What stands before the arguments is the interpreter that a script's first line names.
    asked, shown = expected.variables["serve_argv"], sections[1].removesuffix(_WORD).split(_WORD)
    if shown[-len(asked) :] != asked:
        return f"the process of {UNIT} was started with other arguments: {' '.join(shown)}"
    return None


def _engine_differs(sections: list[str], expected: Expected, found: Marker) -> str | None:
    home, release = expected.variables["engine_home"], expected.variables["engine_release"]
    if sections[0].strip() != home:
        return f"{LINK} points to {sections[0].strip() or 'nothing'}, not to {home}"
    if not sections[1].strip():
        return f"{home}/bin/python is gone"
    if found.facts.get("release") != release:
        return f"the installed engine is {found.facts.get('release')}, not {release}"
    return None


def _checkpoint_differs(sections: list[str], expected: Expected, found: Marker) -> str | None:
    del found
    sizes = {path: size for size, _, path in (line.partition(" ") for line in sections[0].splitlines())}
    for file in expected.variables["checkpoint_files"]:
        size = sizes.get(file["path"])
        if size is None:
            return f"{file['path']} is missing"
        if size != str(file["size"]):
            return f"{file['path']} has {size} bytes, not {file['size']}"
    return None


_DIFFERENCES = {"serve": _serve_differs, "engine": _engine_differs, "checkpoint": _checkpoint_differs}

# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say what the rank on this host does now.

Usage: look.py WANTED (JSON: unit, argv, files, marker)

Prints JSON: `stale` (why the rank has to be started, or empty), `invocation` and `argv` of the running
process.
"""

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PROPERTIES = (
    "ActiveState",
    "InvocationID",
    "MainPID",
    "ExecMainStartTimestamp",
    "ControlGroup",
    "FreezerState",
)
CGROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/systemd"))


def main(wanted: str) -> None:
    """Print the look."""
    want = json.loads(wanted)
    state = unit_state(want["unit"])
    argv = process_argv(state["MainPID"])
    answer = {
        "stale": stale(state, argv, want["argv"], want["files"])
        or restarted(state["InvocationID"], Path(want["marker"]))
        or held(state),
        "invocation": state["InvocationID"],
        "argv": argv,
    }
    sys.stdout.write(json.dumps(answer))


def unit_state(unit: str) -> dict[str, str]:
    """Return the unit's properties; an absent unit is inactive."""
    question = ["systemctl", "show", unit, "--timestamp=us+utc", f"--property={','.join(PROPERTIES)}"]
    answer = subprocess.run(question, capture_output=True, text=True, check=True).stdout
    return dict.fromkeys(PROPERTIES, "") | dict(line.split("=", 1) for line in answer.splitlines())


def process_argv(pid: str) -> list[str]:
    """Return what the process was started with; empty when there is none."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return raw.decode(errors="replace").split("\0")[:-1]


def stale(state: dict[str, str], argv: list[str], wanted: list[str], files: Sequence[str]) -> str:
    """Return why the running process is not the wanted one, or an empty text."""
    if state["ActiveState"] != "active":
        return f"it is {state['ActiveState']}"
    # A script is started through the interpreter that its first line names.
    if argv[-len(wanted) :] != wanted:
        return "it runs with other arguments"
    started = timestamp(state["ExecMainStartTimestamp"])
    changed = [file for file in files if not Path(file).exists() or Path(file).stat().st_mtime > started]
    return f"{changed[0]} changed after it was started" if changed else ""


def timestamp(text: str) -> float:
    """Return seconds since 1970 of systemd's `Mon 2026-12-01 13:50:00.123456 UTC`."""
    moment = text.replace("UTC", "+0000")
    return dt.datetime.strptime(moment, "%a %Y-%m-%d %H:%M:%S.%f %z").timestamp()


def restarted(invocation: str, marker: Path) -> str:
    """Return that somebody else started the rank, where the last run wrote down another start.

    A rank that was started alone has lost its peers, and they wait for the one that is gone.
    """
    try:
        known = json.loads(marker.read_text(encoding="utf-8"))["facts"]["invocation"]
    except (OSError, ValueError, LookupError, TypeError):
        return ""
    return "" if known == invocation else "it was started again by something else"


def held(state: dict[str, str]) -> str:
    """Return which process is stopped or frozen, or an empty text."""
    group = state["ControlGroup"].lstrip("/")
    members = [root / group / "cgroup.procs" for root in CGROUPS if group]
    for pid in next((path.read_text("ascii").split() for path in members if path.exists()), []):
        if state["FreezerState"] == "frozen" or process_state(pid) in ("T", "t"):
            return f"its process {pid} is stopped"
    return ""


def process_state(pid: str) -> str:
    """Return the letter that the kernel has for the state of a process; empty when there is none."""
    try:
        shown = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return shown.rpartition(")")[2].split()[0]


if __name__ == "__main__":
    main(*sys.argv[1:])

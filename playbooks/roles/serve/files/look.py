# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say what the rank on this host does now.

Usage: look.py WANTED (JSON: unit, argv, ports, files)

Prints JSON: `busy` (one sentence per planned port that somebody else has), `stale` (why the rank has to be
started, or empty), `invocation` and `argv` of the running process.
"""

import datetime as dt
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PROPERTIES = ("ActiveState", "InvocationID", "MainPID", "ExecMainStartTimestamp")


def main(wanted: str) -> None:
    """Print the look."""
    want = json.loads(wanted)
    state = unit_state(want["unit"])
    argv = process_argv(state["MainPID"])
    answer = {
        "busy": list(busy(want["ports"], want["unit"])),
        "stale": stale(state, argv, want["argv"], want["files"]),
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


def busy(ports: Sequence[int], unit: str) -> Iterator[str]:
    """Yield a sentence per port that a process outside the unit listens on."""
    answer = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    for line in answer.splitlines():
        port = int(line.split()[3].rpartition(":")[2])
        pids = re.findall(r"pid=(\d+)", line)
        if port in ports and not any(unit in control_group(pid) for pid in pids):
            owners = [owner(pid) for pid in pids] or ["something without a process"]
            yield f"port {port} is taken by {' and '.join(owners)}"


def control_group(pid: str) -> str:
    """Return the control groups of the process."""
    try:
        return Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8")
    except OSError:
        return ""


def owner(pid: str) -> str:
    """Return the process's command, its number and its unit."""
    name = " ".join(process_argv(pid))[:80] or "a process that ended"
    units = re.findall(r"[^/\n]+\.(?:service|scope)", control_group(pid))
    return f"{name!r} (process {pid}{f' of {units[-1]}' if units else ''})"


if __name__ == "__main__":
    main(*sys.argv[1:])

# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say what this host shows of what a playbook left: to write it down, and later to compare.

Usage: observe.py see WATCHED     (JSON: role → kind → keys)
       observe.py others WATCHED  (the same; prints one sentence for each port and GPU that a stranger has)
       observe.py look FLEET      (every marker of the fleet, and what the host shows now)

`see` prints JSON, role → kind → key → value. Kinds and their keys and values:
    files     path → {mode, owner, content: SHA-256 of a file, `-> target` of a link, `folder`}, null: absent
    values    path → its text, null: absent
    stats     path → [size, mtime in ns, inode], null: absent; for files too large to be read
    units     unit → {active, sub, start: enabled or not, invocation, argv, stopped: processes that are}
    packages  name → version, null: not installed
    pinned    name → [version, whether it is held], null: not installed
    ports     TCP port → who listens on it and is in none of the role's units
    gpus      `nvidia-smi` → who computes on a GPU and is in none of the role's units
    mounts    folder → UUID, type and source of what is mounted on it, no names of devices; empty: nothing
    live      shell command → SHA-256 of what it prints
`look` prints JSON, playbook → {marker, now: what `see` says of the roles in the marker}.
"""

import grp
import hashlib
import json
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MARKERS = Path("/var/lib/rackstack")
CGROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/systemd"))
PROPERTIES = "Id,ActiveState,SubState,UnitFileState,InvocationID,MainPID,ControlGroup,FreezerState"
PATIENCE = 6.0  # seconds; a driver that hangs must not hide the rest
END_PATIENCE = 1.0
LONGEST_VALUE = 200
QUERY = "--query-compute-apps=pid,process_name,used_memory"

Watched = Mapping[str, Iterable[str]]


def main(action: str, argument: str) -> None:
    """Print what was asked for."""
    answer: Any
    if action == "look":
        answer = {marker.stem: looked(marker) for marker in sorted((MARKERS / argument).glob("*.json"))}
    else:
        answer = {role: see(watched) for role, watched in json.loads(argument).items()}
    if action == "others":
        answer = [sentence for seen in answer.values() for sentence in others(seen)]
    sys.stdout.write(json.dumps(answer))


def others(seen: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence per port and GPU that strangers have."""
    for port, who in seen.get("ports", {}).items():
        if who:
            yield f"port {port} is taken by {' and '.join(who)}"
    for who in seen.get("gpus", {}).values():
        if who:
            yield f"the GPUs are used by {' and '.join(who)}"


def looked(marker: Path) -> dict[str, Any]:
    """Return a marker, as far as it is one, and what it watches as it is now."""
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
        now = {role: see(kinds) for role, kinds in found.get("watched", {}).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {"marker": None, "now": {}}
    return {"marker": found, "now": now}


def see(watched: Watched) -> dict[str, dict[str, Any]]:
    """Return kind → key → value of one role."""
    own = list(watched.get("units", []))
    seen: dict[str, Callable[[list[str]], dict[str, Any]]] = {
        "files": lambda keys: {key: file(Path(key)) for key in keys},
        "values": lambda keys: {key: value(Path(key)) for key in keys},
        "stats": lambda keys: {key: stat(Path(key)) for key in keys},
        "units": units,
        "packages": packages,
        "pinned": pinned,
        "ports": lambda keys: listeners(keys, own),
        "gpus": lambda keys: {key: computing(own) for key in keys},
        "mounts": lambda keys: {key: mounted(key) for key in keys},
        "live": lambda keys: {key: printed(key) for key in keys},
    }
    return {kind: seen[kind]([str(key) for key in keys]) for kind, keys in watched.items() if kind in seen}


def file(path: Path) -> dict[str, str] | None:
    """Return mode, owner and content of a file, link or folder."""
    try:
        facts = path.lstat()
        if path.is_symlink():
            content = f"-> {path.readlink()}"
        elif path.is_dir():
            content = "folder"
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
    owner = f"{named(pwd.getpwuid, facts.st_uid)}:{named(grp.getgrgid, facts.st_gid)}"
    return {"mode": f"{facts.st_mode & 0o7777:04o}", "owner": owner, "content": content}


def named(ask: Callable[[int], Any], number: int) -> str:
    """Return the name of a user or group; its number where it has none."""
    try:
        return str(ask(number)[0])
    except KeyError:
        return str(number)


def value(path: Path) -> str | None:
    """Return a short text."""
    try:
        return " ".join(path.read_text(encoding="utf-8", errors="replace").split())[:LONGEST_VALUE]
    except OSError:
        return None


def stat(path: Path) -> list[int] | None:
    """Return size, modification time and inode."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return [facts.st_size, facts.st_mtime_ns, facts.st_ino]


def units(names: list[str]) -> dict[str, Any]:
    """Return the state of units by name."""
    blocks = output("systemctl", "show", f"--property={PROPERTIES}", *names).strip().split("\n\n")
    states = [dict(line.partition("=")[::2] for line in block.splitlines()) for block in blocks]
    found = {state.get("Id", ""): unit(state) for state in states}
    return {name: found.get(name) for name in names}


def unit(state: Mapping[str, str]) -> dict[str, Any]:
    """Return what counts of a unit."""
    return {
        "active": state.get("ActiveState", ""),
        "sub": state.get("SubState", ""),
        "start": state.get("UnitFileState", ""),
        "invocation": state.get("InvocationID", ""),
        "argv": argv(state.get("MainPID", "0")),
        "stopped": list(stopped(state.get("ControlGroup", ""), state.get("FreezerState", ""))),
    }


def stopped(group: str, freezer: str) -> Iterator[str]:
    """Yield the processes of a control group that are stopped or frozen, and so do nothing at all."""
    members = [root / group.lstrip("/") / "cgroup.procs" for root in CGROUPS] if group else []
    for pid in next((path.read_text("ascii").split() for path in members if path.exists()), []):
        if freezer == "frozen" or state_of(pid) in ("T", "t"):
            yield f"{pid} ({' '.join(argv(pid))[:60]})"


def state_of(pid: str) -> str:
    """Return the letter that the kernel has for a process's state."""
    try:
        return (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()[0]
        )
    except OSError:
        return ""


def packages(names: list[str]) -> dict[str, Any]:
    """Return the versions of installed packages."""
    shown = output(
        "dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status} ${Version}\n", *names
    )
    lines = [line.split() for line in shown.splitlines()]
    versions = {line[0]: line[2] for line in lines if line[1:2] == ["installed"]}
    return {name: versions.get(name) for name in names}


def pinned(names: list[str]) -> dict[str, Any]:
    """Return versions and holds of installed packages."""
    layout = "${Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n"
    shown = output("dpkg-query", "--show", "--showformat", layout, *names)
    rows = [line.split() for line in shown.splitlines()]
    found = {row[0]: [row[3], row[1] == "hold"] for row in rows if row[2:3] == ["installed"]}
    return {name: found.get(name) for name in names}


def listeners(ports: list[str], own: list[str]) -> dict[str, list[str]]:
    """Return the strangers that listen on TCP ports."""
    strangers: dict[str, list[str]] = {port: [] for port in ports}
    for line in output("ss", "-Hltnp").splitlines() if ports else ():
        port = line.split()[3].rpartition(":")[2]
        pids = re.findall(r"pid=(\d+)", line)
        if port in strangers and not any(belongs(pid, own) for pid in pids):
            strangers[port] += [who for who in map(owner, pids) if who not in strangers[port]]
            strangers[port] += [] if pids else ["something without a process"]
    return strangers


def computing(own: list[str]) -> list[str]:
    """Return the strangers that compute on a GPU; none where no driver can say."""
    running = compute_processes(output("nvidia-smi", QUERY, "--format=csv,noheader"))
    return [f"{owner(pid, name)}, {used}" for pid, name, used in running if not belongs(pid, own)]


def compute_processes(text: str) -> list[tuple[str, str, str]]:
    """Return process number, name and used memory of each line that holds all three."""
    rows = [re.fullmatch(r"(\d+), (.+), (.+)", line.strip()) for line in text.splitlines()]
    return [(row[1], row[2], row[3]) for row in rows if row]


def mounted(folder: str) -> str:
    """Return what is mounted on a folder; names of devices change between boots, so they are left out."""
    shown = output("findmnt", "--noheadings", "--output", "UUID,FSTYPE,SOURCE", "--mountpoint", folder)
    return " ".join(re.sub(r"/dev/[^\s[]*", "", (shown.splitlines() or [""])[-1]).split())


def printed(command: str) -> str:
    """Return the SHA-256 of what a command prints."""
    return hashlib.sha256(output("sh", "-c", command).encode()).hexdigest()


def belongs(pid: str, own: list[str]) -> bool:
    """Return whether a process is one of the units'."""
    return any(f"/{name}" in control_group(pid) for name in own)


def owner(pid: str, name: str = "") -> str:
    """Return a process's command, its number and its unit."""
    shown = " ".join(argv(pid))[:80] or name or "a process that ended"
    found = re.findall(r"[^/\n]+\.(?:service|scope)", control_group(pid))
    return f"{shown!r} (process {pid}{f' of {found[-1]}' if found else ''})"


def argv(pid: str) -> list[str]:
    """Return what a process was started with; empty when there is none."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return raw.decode(errors="replace").rstrip("\0").split("\0") if raw else []


def control_group(pid: str) -> str:
    """Return the control groups of a process."""
    try:
        return Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8")
    except OSError:
        return ""


def output(*command: str) -> str:
    """Return what a command prints; nothing where it is not there or hangs."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        asked = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
        )
    except OSError:
        return ""
    try:
        return asked.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        let_go(asked)
        return ""


def let_go(process: subprocess.Popen[str]) -> None:
    """End a process, but do not wait for one that hangs in the driver: no signal ends that."""
    process.kill()
    for pipe in filter(None, (process.stdout, process.stderr)):
        pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_PATIENCE)


if __name__ == "__main__":
    main(*sys.argv[1:])

# ruff: noqa: INP001 - a program for the host, not part of a package
"""Have small files, kernel modules, kernel settings and units as wished, all in one step.

Usage: settle.py look WISH     (JSON, see below)
       settle.py change WISH
       settle.py remove STAY   (the way back of all that was ever wished; JSON: units that stay as they are)
       settle.py forget        (what was found: nothing is left to be taken back)

WISH holds any of
    files     path → {content, mode}
    modules   kernel modules that are loaded; a file in /etc/modules-load.d keeps them, and is one of `files`
    settings  key of sysctl → value in force; a file in /etc/sysctl.d keeps it, and is one of `files`
    units     unit → paths: enabled, active, and started after each of these files was written
What was there before the first change of a file, a setting or a unit is kept in FOUND, and `remove` puts it
back; what was as wished already is a person's own, and stays. Until `forget`, `remove` does all of it again:
a way back that was cut short is taken from its beginning.
Each action prints JSON: `changed`, and the first two `stale`, one sentence per thing that is not as wished
(after `change`: still not).
"""

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

PROC = Path("/proc")
MODULES = Path("/sys/module")  # those that are built in show there too
FOUND = Path("/var/lib/rackstack/found")
SETTINGS = "settings"  # in FOUND: a file per key, its value
SERVICES = "units"  # in FOUND: a file per unit, its state at boot and now
UNITS = "/etc/systemd/"
SERVICE = ".service"
DROP_INS = f"{SERVICE}.d"
PROPERTIES = (
    "ActiveState",
    "SubState",
    "Result",
    "UnitFileState",
    "MainPID",
    "ExecMainStartTimestamp",
    "InvocationID",
)
LONGEST = 300  # characters of a unit's last words
GONE = " (deleted)"  # what the kernel puts behind the path of a program that was replaced

Wish = Mapping[str, Any]


def main(action: str, argument: str = "null") -> None:
    """Do one action and print what came of it."""
    given = json.loads(argument)
    if action == "forget":
        forget()
        return
    if action == "remove":
        sys.stdout.write(json.dumps({"changed": remove(given)}))
        return
    changed = change(given) if action == "change" else []
    sys.stdout.write(json.dumps({"stale": list(stale(given)), "changed": changed}))


def stale(wish: Wish) -> Iterator[str]:
    """Yield a sentence for each thing that is not as wished."""
    yield from stale_files(wish.get("files", {}))
    yield from (f"kernel module {name} is not loaded" for name in missing(wish.get("modules", ())))
    yield from stale_settings(wish.get("settings", {}))
    for unit, files in wish.get("units", {}).items():
        if reason := stale_unit(unit, files):
            yield reason


def stale_files(files: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield the files that are not as wished."""
    for path, want in files.items():
        if not is_as(Path(path), want):
            yield f"{path} is not the wished one"


def is_as(path: Path, want: Mapping[str, str]) -> bool:
    """Return whether a file has content, mode and owner."""
    try:
        facts = path.stat()
        same = path.read_text(encoding="utf-8", errors="replace") == want["content"]
    except OSError:
        return False
    return same and (facts.st_mode & 0o7777) == int(want["mode"], 8) and facts.st_uid == os.geteuid()


def missing(modules: Iterable[str]) -> list[str]:
    """Return the modules that are not loaded."""
    names = [name.replace("-", "_") for name in modules]
    return [name for name in names if not (MODULES / name).exists()]


def stale_settings(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the settings that are not in force."""
    for key, value in settings.items():
        found = setting(key)
        if found is None:
            yield f"{key} is unknown to this kernel, the plan says {value}"
        elif found != value.split():
            yield f"{key} is {' '.join(found) or 'empty'}, the plan says {value}"


def setting(key: str) -> list[str] | None:
    """Return the words of a setting; None where the kernel has none of that name."""
    try:
        return (PROC / "sys" / key.replace(".", "/")).read_text(encoding="utf-8").split()
    except OSError:
        return None


def stale_unit(unit: str, files: Iterable[str]) -> str:
    """Return why a unit has to be started again; empty where it runs as wished."""
    state = unit_state(unit)
    if state["ActiveState"] != "active":
        return f"{unit} is {state['ActiveState'] or 'unknown'} ({state['Result']}){last_words(unit)}"
    if state["UnitFileState"] != "enabled":
        return f"{unit} is {state['UnitFileState'] or 'not enabled'} at boot"
    if replaced(state["MainPID"]):
        return f"{unit} runs a program that was replaced"
    started = timestamp(state["ExecMainStartTimestamp"])
    newer = [path for path in files if Path(path).exists() and Path(path).stat().st_mtime > started]
    return f"{newer[0]} was written after {unit} was started" if newer else ""


def unit_state(unit: str) -> dict[str, str]:
    """Return the properties of a unit."""
    question = ("systemctl", "show", unit, "--timestamp=us+utc", f"--property={','.join(PROPERTIES)}")
    lines = output(*question).splitlines()
    return dict.fromkeys(PROPERTIES, "") | dict(line.split("=", 1) for line in lines if "=" in line)


def replaced(pid: str) -> bool:
    """Return whether a process runs a file that is not there any more, as after an upgrade."""
    try:
        return str((PROC / pid / "exe").readlink()).endswith(GONE)
    except OSError:
        return False


def timestamp(text: str) -> float:
    """Return seconds since 1970 of systemd's `Mon 2026-12-01 13:50:00.123456 UTC`; 0 of nothing."""
    try:
        return dt.datetime.strptime(text.replace("UTC", "+0000"), "%a %Y-%m-%d %H:%M:%S.%f %z").timestamp()
    except ValueError:
        return 0.0


def last_words(unit: str) -> str:
    """Return what a unit's programs said last, without systemd's own lines about it."""
    fields = ("--output=json", "--lines=40", "--no-pager", "--quiet", f"--unit={unit}")
    entries = [json.loads(line) for line in output("journalctl", *fields).splitlines()]
    said = [str(entry.get("MESSAGE", "")) for entry in entries if entry.get("_COMM") != "systemd"]
    return f" and said last: {said[-1].strip()[:LONGEST]}" if said else ""


def change(wish: Wish) -> list[str]:
    """Bring everything to what is wished; return what was changed."""
    put = [key for key, value in wish.get("settings", {}).items() if setting(key) != value.split()]
    for key in put:  # before its file, which the next boot would read
        if (found := setting(key)) is not None:
            note(SETTINGS, key, " ".join(found))
    written = [path for path, want in wish.get("files", {}).items() if not is_as(Path(path), want)]
    for path in written:
        write(Path(path), wish["files"][path])
    if any(path.startswith(UNITS) for path in written):
        output("systemctl", "daemon-reload")
    loaded = missing(wish.get("modules", ()))
    for name in loaded:
        output("modprobe", name)
    for key in put:
        put_in_force(key, wish["settings"][key])
    return [*written, *loaded, *put, *restart(wish.get("units", {}))]


def write(path: Path, want: Mapping[str, str]) -> None:
    """Write a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remember(path)
    draft = path.with_name(f".{path.name}.rackstack")
    draft.write_text(want["content"], encoding="utf-8")
    draft.chmod(int(want["mode"], 8))
    draft.rename(path)


def remember(path: Path) -> None:
    """Keep, once, what is at the place of a file; an empty folder of its name says that nothing is."""
    place = kept(path)
    if place.exists():
        return
    draft = place.with_name(f".{place.name}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    if os.path.lexists(path):
        copy(path, draft / "content")
    draft.rename(place)


def copy(path: Path, to: Path) -> None:
    """Copy a file with its mode, times and owner; a link stays one."""
    shutil.copy2(path, to, follow_symlinks=False)
    facts = path.lstat()
    os.chown(to, facts.st_uid, facts.st_gid, follow_symlinks=False)


def note(kind: str, name: str, text: str) -> None:
    """Keep, once, what a setting or a unit was."""
    place = FOUND / kind / name
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{name}")
    draft.write_text(text, encoding="utf-8")
    draft.rename(place)


def noted(kind: str) -> dict[str, str]:
    """Return name → what it was, of all settings or units that were changed, the last one first."""
    places = sorted((FOUND / kind).glob("[!.]*"), key=lambda place: place.stat().st_mtime_ns, reverse=True)
    return {place.name: place.read_text(encoding="utf-8") for place in places}


def kept(path: Path) -> Path:
    """Return where is kept what was at the place of a file."""
    return FOUND / str(path).strip("/").replace("/", "%")


def put_in_force(key: str, value: str) -> None:
    """Write a setting; what the kernel refuses is seen by the look that follows."""
    try:
        (PROC / "sys" / key.replace(".", "/")).write_text(f"{value}\n", encoding="utf-8")
    except OSError:
        return


def restart(units: Mapping[str, Iterable[str]]) -> list[str]:
    """Enable and start, in order, what does not run as wished."""
    started = [unit for unit, files in units.items() if stale_unit(unit, files)]
    for unit in started:
        state = unit_state(unit)
        note(SERVICES, unit, f"{state['UnitFileState']} {state['ActiveState']}")
        output("systemctl", "reset-failed", unit)
        output("systemctl", "enable", unit)
        output("systemctl", "restart", unit)
    return started


def remove(stay: Sequence[str]) -> list[str]:
    """Have files, settings and units as they were found; modules stay loaded until the next boot."""
    files = [f"/{place.name.replace('%', '/')}" for place in sorted(FOUND.glob("[!.]*%*"))]
    units = {unit: found for unit, found in noted(SERVICES).items() if unit not in stay}
    units |= {unit: "" for unit in brought(files) if unit not in units}
    for unit in units:
        output("systemctl", "disable", "--now", unit)
    for path in files:
        take_back(Path(path))
    if any(path.startswith(UNITS) for path in files):
        output("systemctl", "daemon-reload")
    settings = noted(SETTINGS)
    for key, value in settings.items():
        put_in_force(key, value)
    for unit, found in units.items():
        at_boot, _, state = found.partition(" ")
        start_again(unit, at_boot, state)
    return [*units, *files, *settings]


def brought(files: Iterable[str]) -> list[str]:
    """Return the units whose files were not there: an earlier version of this program noted no units."""
    ours = (Path(path) for path in files if path.startswith(UNITS) and path.endswith(SERVICE))
    return [path.name for path in ours if not os.path.lexists(kept(path) / "content")]


def forget() -> None:
    """Remove FOUND in one step: a part of it would tell of files that were not there."""
    draft = FOUND.with_name(f".{FOUND.name}")
    shutil.rmtree(draft, ignore_errors=True)
    if FOUND.exists():
        FOUND.rename(draft)
        shutil.rmtree(draft)


def start_again(unit: str, at_boot: str, state: str) -> None:
    """Have a unit that a person had running run again, now by the files that were found."""
    if at_boot == "enabled":
        output("systemctl", "enable", unit)
    if state == "active":
        output("systemctl", "start", unit)


def take_back(path: Path) -> None:
    """Put back what was at the place of a file, or remove it."""
    found = kept(path) / "content"
    if os.path.lexists(found):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.rackstack")
        draft.unlink(missing_ok=True)
        copy(found, draft)
        draft.rename(path)
    else:
        path.unlink(missing_ok=True)
    folder = path.parent
    if folder.name.endswith(DROP_INS) and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def output(*command: str) -> str:
    """Return what a command prints; nothing where it is not there."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, check=False
        )
    except OSError:
        return ""
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])

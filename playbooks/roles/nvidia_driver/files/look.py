# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say which NVIDIA driver this host runs.

Usage: look.py RELEASE

Prints JSON: `loaded` (release of the loaded kernel module, empty: none), `open` (whether it is the open one),
`refusals` (what keeps packages from being installed), `reasons` (why the host has to be restarted to run
RELEASE, as clauses), and `lacks` (what is not as RELEASE would have it, as `nvidia-smi` and the kernel say).
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build …"; the proprietary one
# says "NVIDIA UNIX x86_64 Kernel Module  550.135 …" (both as drivers print them).
VERSION = Path("/proc/driver/nvidia/version")
NOUVEAU = Path("/sys/module/nouveau")
INSTALLER = Path("/usr/bin/nvidia-uninstall")
QUERY = ("nvidia-smi", "--query-gpu=index,driver_version,persistence_mode", "--format=csv,noheader")
PATIENCE = 60.0  # seconds; without the persistence daemon each question initialises every GPU
END_PATIENCE = 1.0


def main(release: str) -> None:
    """Print the look."""
    loaded, is_open = kernel_module()
    answer = {
        "loaded": loaded,
        "open": is_open,
        "refusals": list(refusals()),
        "reasons": list(reasons(release, loaded, is_open=is_open)),
        "lacks": list(lacks(release, loaded, is_open=is_open)),
    }
    sys.stdout.write(json.dumps(answer))


def kernel_module() -> tuple[str, bool]:
    """Return release and kind of the loaded module."""
    try:
        line = VERSION.read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        return "", False
    found = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", f"{line} ")
    return (found[1] if found else "unknown"), "Open Kernel Module" in line


def refusals() -> Iterator[str]:
    """Yield what a package manager must not be let loose on."""
    if INSTALLER.exists():
        yield (
            f"{INSTALLER} is there, so a driver was installed by NVIDIA's own installer and packages would"
            " mix with it: run `nvidia-uninstall`, restart the host, then run again"
        )


def reasons(release: str, loaded: str, *, is_open: bool) -> Iterator[str]:
    """Yield why only a restart brings the wanted driver."""
    if loaded and loaded != release:
        yield f"driver {loaded} is loaded and the plan says {release}"
    elif loaded and not is_open:
        yield f"the proprietary kernel module of driver {loaded} is loaded and the plan says the open one"
    if NOUVEAU.exists():
        yield "nouveau is loaded and keeps the GPUs from the driver"


def lacks(release: str, loaded: str, *, is_open: bool) -> Iterator[str]:
    """Yield what a host that runs the release would show otherwise."""
    if not loaded:
        yield f"{VERSION} is not there, so no driver is loaded, and the plan says {release}"
    yield from reasons(release, loaded, is_open=is_open)
    code, shown = asked(*QUERY)
    rows = [line.split(", ") for line in shown.splitlines() if line.strip()]
    if code or not rows or any(len(row) != len(("index", "driver", "persistence")) for row in rows):
        yield f"nvidia-smi says {' '.join(shown.split())[:300] or 'nothing'}"
        return
    for gpu, driver, persistence in rows:
        if driver != release:
            yield f"GPU {gpu} has driver {driver} and the plan says {release}"
        if persistence != "Enabled":
            yield f"GPU {gpu} has persistence mode {persistence}"


def asked(*command: str) -> tuple[int, str]:
    """Return exit status and output of a command; one that is not there or hangs says so."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
        )
    except OSError as error:
        return 127, str(error)
    try:
        shown, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        let_go(process)
        return 124, f"nothing for {PATIENCE:.0f} s"
    return process.returncode, shown


def let_go(process: subprocess.Popen[str]) -> None:
    """End a process, but do not wait for one that hangs in the driver: no signal ends that."""
    process.kill()
    for pipe in filter(None, (process.stdout, process.stderr)):
        pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_PATIENCE)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Print what this host's own tools say: for the host, through its Python's standard library alone.

Usage: collect.py peek       (clock, boot, driver, channel and ports: what is cheap to compare)
       collect.py look WANTS (JSON: peer, user, unit, imex; prints the rest of what `sight.Sight` holds)

It changes nothing. `dcgmi diag -r 2` takes minutes and is left out where ranks of this fleet hold the GPUs.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

CHANNEL = Path("/dev/nvidia-caps-imex-channels/channel0")
DEVICES = Path("/proc/devices")
DRIVER = Path("/proc/driver/nvidia/version")
INFINIBAND = Path("/sys/class/infiniband")
BOOT = Path("/proc/sys/kernel/random/boot_id")
PATIENCE = 60.0  # seconds; a driver that hangs must not hide the rest
END_PATIENCE = 1.0
DIAG_PATIENCE = 480.0  # about two minutes are documented for level 2
# Device and code, and of an SXid how grave it is; of a line of no known form only that it names one.
ERROR = re.compile(r"\bXid \([^)]*\): \d+|\bSXid \([^)]*\): \d+, [\w-]+|\bS?Xid\b")
NOT_THERE, TOO_LATE = 127, 124


def main(action: str, argument: str = "{}") -> None:
    """Print what was asked for."""
    answer = peek() if action == "peek" else look(json.loads(argument))
    sys.stdout.write(json.dumps(answer))


def peek() -> dict[str, Any]:
    """Return the clock, and what changes with a boot, a driver or a link."""
    return {
        "clock": time.time(),
        "shows": {
            "boot": text(BOOT),
            "driver": text(DRIVER).partition("\n")[0],
            "channel": " ".join(map(str, device(CHANNEL) or ())),
            "ports": ", ".join(f"{name} {state}" for name, state in ports()),
        },
    }


def look(wants: dict[str, Any]) -> dict[str, Any]:
    """Return what every tool says."""
    smi = ask("nvidia-smi", "-q", "-x")
    smi["out"] = short(smi["out"])
    holders = {pid: process(pid) for pid in re.findall(r"<pid>(\d+)</pid>", smi["out"])}
    busy = any(each["unit"] == wants["unit"] for each in holders.values())
    return {
        "smi": smi,
        "nvlink": ask("nvidia-smi", "nvlink", "-s"),
        "topo": ask("nvidia-smi", "topo", "-m"),
        "imex": ask("nvidia-imex-ctl", "-N", "-j") if wants["imex"] else None,
        "diag": None if busy else ask("dcgmi", "diag", "-r", "2", "-j", patience=DIAG_PATIENCE),
        "kernel": kernel(),
        "route": ask("ip", "-j", "route", "get", wants["peer"]),
        "channels": channels(wants["user"]) if wants["imex"] else None,
        "nics": nics(),
        "processes": holders,
    }


def ask(*command: str, patience: float = PATIENCE) -> dict[str, Any]:
    """Return what a command answered; 127 where it is not there, 124 where it did not end in time."""
    try:
        asked = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except OSError as fault:
        return {"code": NOT_THERE, "out": "", "err": str(fault)}
    try:
        out, err = asked.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        let_go(asked)
        return {"code": TOO_LATE, "out": "", "err": f"it did not end within {patience:g} s"}
    return {"code": asked.returncode, "out": out, "err": err}


def let_go(process: subprocess.Popen[str]) -> None:
    """End a process, but do not wait for one that hangs in the driver: no signal ends that."""
    process.kill()
    for pipe in filter(None, (process.stdout, process.stderr)):
        pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_PATIENCE)


def short(xml: str) -> str:
    """Return the answer of `nvidia-smi` without its longest lists and its indentation."""
    without = re.sub(r"<supported_clocks>.*?</supported_clocks>", "", xml, flags=re.DOTALL)
    return re.sub(r"(?m)^\s+", "", without)


def kernel() -> dict[str, Any]:
    """Return the first line of each Xid and SXid in this boot's kernel log, and how many lines it has."""
    said = ask("journalctl", "--dmesg", "--boot", "--quiet", "--no-pager", "--output=short-monotonic")
    lines = said["out"].splitlines()
    first: dict[str, str] = {}
    for line in lines:
        if match := ERROR.search(line):
            first.setdefault(match[0], line)
    return {**said, "out": "\n".join(first.values()), "lines": len(lines)}


def channels(user: str) -> dict[str, Any]:
    """Return the first IMEX channel, and whether a user may read and write it; its mode where not."""
    major = re.search(r"(?m)^\s*(\d+) nvidia-caps-imex-channels$", text(DEVICES))
    test = f"test -r {CHANNEL} && test -w {CHANNEL} || {{ ls -l {CHANNEL}; exit 1; }}"
    usable = ask("runuser", "-u", user, "--", "sh", "-c", test)
    return {"major": int(major[1]) if major else None, "device": device(CHANNEL), "usable": usable}


def device(path: Path) -> list[int] | None:
    """Return major and minor number of a device; None where there is none."""
    try:
        number = path.stat().st_rdev
    except OSError:
        return None
    return [os.major(number), os.minor(number)]


def nics() -> dict[str, Any]:
    """Return every RDMA device with its ports and PCIe lanes."""
    return {
        nic.name: {
            "ports": {port.name: port_of(port) for port in sorted((nic / "ports").glob("*"))},
            "width": text(nic / "device/current_link_width"),
            "most": text(nic / "device/max_link_width"),
        }
        for nic in sorted(INFINIBAND.glob("*"))
    }


def port_of(port: Path) -> dict[str, str]:
    """Return what the kernel says of a port."""
    return {name: text(port / name) for name in ("state", "phys_state", "rate", "link_layer")}


def ports() -> Iterator[tuple[str, str]]:
    """Yield every RDMA port with its state and rate."""
    for port in sorted(INFINIBAND.glob("*/ports/*")):
        yield f"{port.parts[-3]}:{port.name}", f"{text(port / 'state')} {text(port / 'rate')}"


def process(pid: str) -> dict[str, str]:
    """Return what a process was started with, and its unit."""
    command = " ".join(text(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").split())
    units = re.findall(r"[^/\n]+\.(?:service|scope)", text(Path(f"/proc/{pid}/cgroup")))
    return {"command": command or "a process that ended", "unit": units[-1] if units else ""}


def text(path: Path) -> str:
    """Return a short text; empty where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Print what this machine is, as JSON; nothing is changed.

A program for the machine itself, which has no package of ours: it reads from standard input, and only the
standard library is there.

Usage: survey.py ADDRESS (the address under which the machine is listed)
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

LEASE = Path("/var/lib/rackstack-lease")
STATE = Path("/var/lib/rackstack")
DEVICES = Path("/sys/bus/pci/devices")
DISPLAY, ACCELERATOR = "0x03", "0x12"  # PCI base classes: display controller, processing accelerator
PRODUCT = Path("/sys/class/dmi/id/product_uuid")
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
SMI = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
SMI_SECONDS = 20
END_SECONDS = 1.0
# Exit statuses (nvidia-smi(1), RETURN VALUE; nvml.h) of a driver that is not loaded, lacks its library, or is
# of another release than that, as after an upgrade: what `prepare` brings right, so that the bus counts.
NOT_YET = (9, 12, 18)


def main(address: str) -> None:
    """Print the facts."""
    sys.stdout.write(json.dumps(facts(address)))


def facts(address: str) -> dict[str, Any]:
    """Return all of them; `components.machines.baremetal.verdict` says what they mean."""
    driven, complaint = gpus()
    return {
        "arch": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_mib": memory_mib(),
        "clock": int(time.time()),
        "machine": identity(),
        "on_bus": on_bus(),
        "gpus": driven,
        "gpus_complaint": complaint,
        "interface": interface(address),
        "lease": text(LEASE),
        "fleets": sorted(path.name for path in STATE.glob("*") if path.name != "checkpoints"),
    }


def memory_mib() -> int:
    """Return the memory that this machine may use, in MiB; a limit of its own control group counts too."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [int(limit) for path in CGROUP_LIMITS if (limit := text(Path(path))).isdigit()]
    return min([total, *limits]) >> 20


def identity() -> str:
    """Return what tells this machine from every other: the id of its system, and that of its board."""
    return "/".join(filter(None, (text(Path("/etc/machine-id")), text(PRODUCT).lower())))


def on_bus() -> dict[str, int]:
    """Return how many display controllers and accelerators the PCI bus shows, by id of their vendor."""
    found: Counter[str] = Counter()
    for device in DEVICES.glob("*"):
        if text(device / "class").startswith((DISPLAY, ACCELERATOR)):
            found[text(device / "vendor").removeprefix("0x")] += 1
    return dict(found)


def gpus() -> tuple[list[str] | None, str]:
    """Return the product names of all GPUs that NVIDIA's driver drives, and what it complains of.

    None where there is no such driver, it is still to be brought right, or it does not answer.
    """
    if shutil.which(SMI[0]) is None:
        return None, ""
    asked = subprocess.Popen(
        SMI, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = asked.communicate(timeout=SMI_SECONDS)
    except subprocess.TimeoutExpired:
        let_go(asked)
        return None, f"it did not answer within {SMI_SECONDS} s"
    if asked.returncode in NOT_YET:
        return None, ""
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    if asked.returncode:
        said = (err.strip().splitlines() or lines or ["it said nothing"])[-1]
        return None, f"it ended with status {asked.returncode}: {said}"
    return lines, ""


def let_go(process: subprocess.Popen[str]) -> None:
    """End a process, but do not wait for one that hangs in the driver: no signal ends that."""
    process.kill()
    for pipe in filter(None, (process.stdout, process.stderr)):
        pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)


def interface(address: str) -> str:
    """Return the network interface that holds an address; empty where none does."""
    shown = subprocess.run(["ip", "-o", "-4", "address", "show"], capture_output=True, text=True, check=False)
    for line in shown.stdout.splitlines():
        _, name, _, held, *_ = line.split()
        if held.partition("/")[0] == address:
            return name
    return ""


def text(path: Path) -> str:
    """Return what a file says; empty where it is not there."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


if __name__ == "__main__":
    main(*sys.argv[1:])

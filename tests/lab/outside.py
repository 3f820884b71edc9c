"""How tests look at lab hosts from outside, without the code that they test."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from components.fleet_inventory import InventoryInputs
from components.plugin.kind import Outputs

if TYPE_CHECKING:
    from components.hosts.record import HostRecord


def inventory_of(fleet: str) -> tuple[InventoryInputs, Outputs]:
    """Return the record of a lab fleet, as a state would hold it."""
    return InventoryInputs(fleet=fleet, provider="lab"), Outputs(incarnation="any")


def ssh(host: HostRecord, command: str, host_key: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command on a host that must show its key (or the one given)."""
    with tempfile.NamedTemporaryFile("w", prefix="rackstack-") as known:
        known.write(f"{host.address} {host_key or host.host_key}\n")
        known.flush()
        options = {
            "BatchMode": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": known.name,
            "GlobalKnownHostsFile": "/dev/null",
            "IdentitiesOnly": "yes",
            "ConnectTimeout": "10",
        }
        argv = ["ssh", "-F", "none", "-i", host.identity_file, "-p", str(host.port)]
        argv += [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        return subprocess.run(
            [*argv, f"{host.user}@{host.address}", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def said(host: HostRecord, command: str) -> str:
    """Return what a command on a host printed; it must succeed."""
    done = ssh(host, command)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def traces(fleet: str) -> list[str]:
    """Return every line in which this machine shows that a fleet exists."""
    mark = f"rs-{hashlib.sha256(fleet.encode()).hexdigest()[:8]}"
    seen = [
        *_lines("ip", "-oneline", "link"),
        *_lines("ip", "netns"),
        *_lines("ps", "-eo", "pid,args", "--no-headers"),
        *_lines("find", "/sys/fs/cgroup", "-maxdepth", "6", "-type", "d", "-name", "rs-*"),
        *_lines("find", "/var/lib/rackstack-lab", "/run/systemd/nspawn", "/run/netns", "-maxdepth", "2"),
        *Path("/proc/self/mountinfo").read_text().splitlines(),
    ]
    return [line for line in seen if mark in line or fleet in line]


def _lines(*argv: str) -> list[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()

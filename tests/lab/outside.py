"""How tests look at lab hosts from outside, without the code that they test."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

from components.fleet_inventory import InventoryInputs, InventoryOutputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from components.hosts.record import HostRecord
    from components.machines.lab.network import NetworkOutputs


STRANGER = 5
"""Host number of a third party on a fleet's bridge, where no member is."""
SILENCE = 1.0
"""Seconds after which a port that says nothing counts as silent; all of this stays on one machine."""
PROBE = f"""
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def tried(port):
    try:
        socket.create_connection((sys.argv[1], int(port)), {SILENCE}).close()
    except TimeoutError:
        return "silent"
    except ConnectionRefusedError:
        return "refused"
    return "open"
with ThreadPoolExecutor() as pool:
    print(*pool.map(tried, sys.argv[2:]))
"""
"""Program that tells what TCP ports answer; any Python runs it."""
# An address that is still looked for twice cannot be used yet.
_NODAD = {True: ["nodad"], False: []}


def inventory_of(fleet: str) -> tuple[InventoryInputs, InventoryOutputs]:
    """Return the record of a lab fleet, as a state would hold it."""
    return InventoryInputs(fleet=fleet, provider="lab"), InventoryOutputs(incarnation="any")


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


@contextmanager
def stranger(network: NetworkOutputs) -> Iterator[str]:
    """Put a third party on a fleet's bridge and yield its namespace; no member, and not this machine."""
    subnet, namespace = IPv4Network(network.subnet), f"{network.bridge}-stranger"
    link = f"{network.bridge}-s"
    try:
        _ip("netns", "add", namespace)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("link", "set", link, "master", network.bridge, "up")
        for address in (f"{subnet[STRANGER]}/24", f"fd00::{STRANGER}/64"):
            _ip("-n", namespace, "address", "add", address, "dev", "eth0", *_NODAD[":" in address])
        _ip("-n", namespace, "link", "set", "eth0", "up")
        yield namespace
    finally:
        subprocess.run(["ip", "link", "delete", link], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)


def reached(address: str, ports: Sequence[int], namespace: str | None = None) -> dict[int, str]:
    """Say for each TCP port what a connection meets there: `open`, `refused` or `silent`.

    Args:
        address: IPv4 or IPv6.
        ports: Which to try, all at once.
        namespace: From which network namespace; None is this machine's own.
    """
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    argv = [*inside, sys.executable, "-c", PROBE, address, *map(str, ports)]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    return dict(zip(ports, shown.split(), strict=True))


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


def _ip(*argv: str) -> None:
    subprocess.run(["ip", *argv], check=True, capture_output=True, text=True)


def _lines(*argv: str) -> list[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()


def task_of(role: str) -> str:
    """Return the pattern of what tells a task of a role, and not what a look found of that role."""
    return rf"{role}: (?!no run has finished|the last run here|rackstack-)"


@contextmanager
def opened(line: str, port: int) -> Iterator[None]:
    """Run the line that opens a private endpoint, as a person would, until the end of the block."""
    with subprocess.Popen(shlex.split(line), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        try:
            _wait_for(running, port)
            yield
        finally:
            running.terminate()


def status_through(line: str, port: int) -> str:
    """Return the HTTP status that is answered here while the line is open."""
    with opened(line, port):
        return subprocess.run(
            ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f"http://localhost:{port}/"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip


def _wait_for(running: subprocess.Popen[bytes], port: int) -> None:
    while running.poll() is None:
        listening = subprocess.run(["ss", "-Hltn", f"sport = {port}"], capture_output=True, check=True).stdout
        if f"127.0.0.1:{port}".encode() in listening:
            return
    assert running.stderr is not None
    raise AssertionError(running.stderr.read())

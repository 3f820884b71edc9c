"""Hosts as tests need them."""

from typing import Any

from components.hosts.record import HostRecord

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJtlXhMPvrFfBzBxzzsKfjPiCBIWzcqLkoPPUGRWFsAN"


def host(name: str = "a", **changed: Any) -> HostRecord:
    """Return a record; nothing answers at its address."""
    fields: dict[str, Any] = {
        "name": name,
        "address": "127.0.0.1",
        "port": 22,
        "user": "root",
        "identity_file": "/nonexistent/key",
        "host_key": KEY,
        "incarnation": "1",
        "interface": "eth0",
    }
    return HostRecord(**(fields | changed))

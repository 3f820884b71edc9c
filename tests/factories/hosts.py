"""Hosts as tests need them."""

from typing import Any

from components.hosts.record import HostRecord, JumpHost

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJtlXhMPvrFfBzBxzzsKfjPiCBIWzcqLkoPPUGRWFsAN"

KEY2 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBY2eqy2ekoBfI2oq5VoLMs5CGN4D3EU3aCg4MVWRMfE"

ECDSA = (
    "ecdsa-sha2-nistp256 "
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBKqTyISt63WNeAQlsuiRn8sB/OEfvoVvgBhbR+"
    "zanuiCGIM4PBdJDeuIrgQj15ENzWXmY5665MOUOND19u1rnkA="
)
"""Of the right form; no private key belongs to it, nor to `KEY2`."""


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


def jump(**changed: Any) -> JumpHost:
    """Return a jump host; nothing answers at its address."""
    fields: dict[str, Any] = {
        "address": "192.0.2.1",
        "port": 22,
        "user": "ops",
        "identity_file": "/nonexistent/jump-key",
        "host_key": KEY,
    }
    return JumpHost(**(fields | changed))

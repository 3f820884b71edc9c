"""Names and addresses of a lab fleet's things: they follow from fleet, name and index alone. Pure."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MACHINE: Final = re.compile(r"rs-[0-9a-f]{8}-[a-z][a-z0-9-]*")
"""The form of every lab machine's name on this machine."""
HIGHEST_INDEX: Final = 200
"""Hosts of one network; an interface name has room for three digits, a /24 for 254 addresses."""
FIRST_ADDRESS: Final = 10
"""Host number of index 0 in the subnet; the gateway and spare numbers lie below."""

_NAME: Final = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")


def mark(fleet: str) -> str:
    """Return how the names of a fleet's things start; interfaces have only 15 characters."""
    return f"rs-{_digest(fleet)}"


def bridge(fleet: str) -> str:
    """Return the name of the fleet's bridge."""
    return mark(fleet)


def machine(fleet: str, name: str) -> str:
    """Return the name of a host's machine, its network namespace and its control groups."""
    return f"{mark(fleet)}-{name}"


def link(fleet: str, index: int) -> str:
    """Return the name of the interface that ties a host to the bridge."""
    return f"{mark(fleet)}-{index}"


def gateway(subnet: str) -> str:
    """Return the address of this machine in the subnet."""
    return str(ipaddress.IPv4Network(subnet)[1])


def address(subnet: str, index: int) -> str:
    """Return the address of a host in the subnet."""
    return str(ipaddress.IPv4Network(subnet)[FIRST_ADDRESS + index])


def hardware_address(fleet: str, index: int) -> str:
    """Return a fixed hardware address, so that a rebuilt host is not looked for at its old one."""
    return ":".join(re.findall("..", f"02{_digest(fleet)}{index:02x}"))


def host_faults(name: str, index: int) -> Iterator[str]:
    """Yield what is wrong with a host's name and index."""
    if not _NAME.fullmatch(name):
        yield (
            f"name {name!r}: a host's name has at most 40 lower-case letters, digits and inner '-' and "
            "starts with a letter; rename the host"
        )
    if not 1 <= index <= HIGHEST_INDEX:
        yield f"index {index}: it must be from 1 to {HIGHEST_INDEX}; ask for fewer hosts"


def _digest(fleet: str) -> str:
    return hashlib.sha256(fleet.encode()).hexdigest()[:8]

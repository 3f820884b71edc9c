"""Bridges, network namespaces and the links between them; nothing leads out of this machine."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from components.machines.lab.commands import call
from components.machines.lab.root import machine_wide
from stacks.errors import Refusal
from stacks.lab import INTERFACE

if TYPE_CHECKING:
    from ipaddress import IPv4Interface

NAMESPACES: Final = Path("/run/netns")
_LINKS: Final = Path("/sys/class/net")


def make_bridge(bridge: str, gateway: IPv4Interface, hardware: str) -> None:
    """Ensure a bridge that has the gateway's address and is up."""
    if not exists(bridge):
        call("ip", "link", "add", bridge, "address", hardware, "type", "bridge")
    call("ip", "address", "replace", str(gateway), "dev", bridge)
    call("ip", "link", "set", bridge, "up")


def join(namespace: str, link: str, bridge: str, address: IPv4Interface, hardware: str) -> None:
    """Make a host's network namespace, with one interface that is tied to the bridge."""
    leave(namespace, link)
    with machine_wide():
        call("ip", "netns", "add", namespace)
    peer = ("peer", "name", INTERFACE, "address", hardware, "netns", namespace)
    call("ip", "link", "add", link, "type", "veth", *peer)
    attach(link, bridge)
    call("ip", "-n", namespace, "link", "set", "lo", "up")
    call("ip", "-n", namespace, "address", "add", str(address), "dev", INTERFACE)
    call("ip", "-n", namespace, "link", "set", INTERFACE, "up")


def attach(link: str, bridge: str) -> None:
    """Tie a host's link to the bridge."""
    call("ip", "link", "set", link, "master", bridge, "up")


def leave(namespace: str, *its_links: str) -> None:
    """Remove a host's links and its network namespace."""
    for link in its_links:
        remove(link)
    remove_namespace(namespace)


def remove(link: str) -> None:
    """Remove an interface of this machine; that there is none is fine."""
    if exists(link):
        call("ip", "link", "delete", link)


def remove_namespace(namespace: str) -> None:
    """Remove a network namespace; that there is none is fine."""
    if not (NAMESPACES / namespace).exists():
        return
    with machine_wide():
        call("ip", "netns", "delete", namespace)
        if not any(NAMESPACES.iterdir()):
            _forget_namespaces()


def exists(link: str) -> bool:
    """Tell whether this machine has the interface."""
    return (_LINKS / link).exists()


def is_attached(link: str, bridge: str) -> bool:
    """Tell whether a link is tied to a bridge."""
    return (_LINKS / bridge / "brif" / link).exists()


def links(mark: str) -> list[str]:
    """Return the interfaces of this machine that bear a fleet's mark."""
    return sorted(each.name for each in _LINKS.iterdir() if _bears(each.name, mark))


def namespaces(mark: str) -> list[str]:
    """Return the network namespaces that bear a fleet's mark."""
    if not NAMESPACES.exists():
        return []
    return sorted(each.name for each in NAMESPACES.iterdir() if _bears(each.name, mark))


def has_address(link: str, address: str) -> bool:
    """Tell whether an interface of this machine exists and has an address."""
    return exists(link) and any(address == each["local"] for each in _addresses(link))


def routed() -> list[str]:
    """Return every network that this machine has a route to, but for the default route."""
    routes = json.loads(call("ip", "-json", "-4", "route", "show", "table", "all"))
    return [route["dst"] for route in routes if route["dst"] != "default"]


def _forget_namespaces() -> None:
    """Undo what iproute2 does for the first namespace of a machine and leaves after the last."""
    with suppress(Refusal, OSError):  # somebody else looks into the folder: it is his now
        call("umount", str(NAMESPACES))
        NAMESPACES.rmdir()


def _addresses(link: str) -> list[dict[str, Any]]:
    shown = json.loads(call("ip", "-json", "-4", "address", "show", "dev", link))
    return [address for each in shown for address in each["addr_info"]]


def _bears(name: str, mark: str) -> bool:
    return name == mark or name.startswith(f"{mark}-")

"""By which interface a host reaches its peers, as one concrete name. Pure.

Gloo binds what it is given and takes no list; left alone it may bind loopback, and NCCL's list of prefixes
crashes it (github.com/aws-samples/aws-do-eks, pull requests 50, 51 and 69).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from components.readiness.gates.refused import Check, Refused
from components.readiness.gates.sight import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.sight import Said
    from components.readiness.gates.wants import Wants

UNREAD: Final = Check(
    "route-answers",
    "one route to the peer from `ip -j route get`",
    (
        "there is no route to the peer: `ip route get PEER`, mend the host's network",
        "iproute2 is too old for -j: use Ubuntu 22.04, Debian 12 or newer",
    ),
    "manual page ip-route(8)",
)
MEMBER: Final = Check(
    "route-from-member-address",
    "a route that leaves from the member address by an interface of its own",
    (
        "the address in the stack is not that of the members' network: correct address: of machines.hosts",
        (
            "two interfaces are in one network: the kernel leaves by the first, take the address away from "
            "the other"
        ),
        "the peer's address is this host's own: two hosts of the stack are one machine",
    ),
    "vLLM 0.33.0, vllm/envs.py (VLLM_HOST_IP); github.com/aws-samples/aws-do-eks/pull/50",
)

CHECKS: Final = (UNREAD, MEMBER)

_NAME: Final = re.compile(r"^[A-Za-z0-9_.:@-]{1,15}$")  # IFNAMSIZ is 16, with its end


@dataclass(frozen=True)
class Route:
    """How a host reaches a peer.

    Attributes:
        interface: Name of the interface.
        source: The address that it leaves from.
    """

    interface: str
    source: str


def read(said: Said) -> Route:
    """Return the route.

    Raises:
        NotUnderstood: There is none, or several, or its form is unknown.
    """
    try:
        [route] = json.loads(said.text())
        found = Route(str(route["dev"]), str(route["prefsrc"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NotUnderstood(f"printed not one route with dev and prefsrc: {said.words!r}") from None
    if not _NAME.match(found.interface):
        raise NotUnderstood(f"named the interface {found.interface!r}")
    return found


def refusals(seen: Mapping[str, Route], wants: Wants) -> Iterator[Refused]:
    """Yield every host whose peers would be reached from elsewhere than planned.

    Args:
        seen: Host name → its route to the head; of the head to the first other host.
        wants: What the plan wants.
    """
    for host, route in seen.items():
        own = wants.addresses[host]
        if route.interface == "lo" or route.source != own:
            shown = f"it reaches its peers by {route.interface} from {route.source}"
            yield Refused(MEMBER, (host,), shown, f"{own} by an interface that is not lo")

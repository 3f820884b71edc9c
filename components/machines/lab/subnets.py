"""Which private networks the lab may use, and which of them is free. Pure."""

from __future__ import annotations

import ipaddress
import zlib
from typing import TYPE_CHECKING, Final

from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

POOL: Final = "10.213.0.0/16"
"""Private and rarely used; each fleet has a /24 of it."""


def free(fleet: str, taken: Iterable[str]) -> str:
    """Return a /24 that overlaps nothing taken; a fleet starts looking at a place of its own.

    Args:
        fleet: Name of the fleet.
        taken: Addresses and networks of other fleets and of this machine's routes.

    Raises:
        Refusal: Every /24 is taken.
    """
    used = [ipaddress.IPv4Network(each, strict=False) for each in taken]
    candidates = list(ipaddress.IPv4Network(POOL).subnets(new_prefix=24))
    start = zlib.crc32(fleet.encode()) % len(candidates)
    for subnet in candidates[start:] + candidates[:start]:
        if not any(subnet.overlaps(each) for each in used):
            return str(subnet)
    raise Refusal(
        f"no /24 of {POOL} is free for fleet {fleet}: lab fleets and this machine's routes hold all of it; "
        "destroy a fleet (`ls /var/lib/rackstack-lab` names them) or remove the route"
    )

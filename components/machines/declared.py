"""What a machine provider hands to the rest of the fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pulumi


@dataclass(frozen=True)
class Declared:
    """Declared machines.

    Attributes:
        records: Host name → fields of its `HostRecord`, in rank order.
        mirror: Base URL that serves `wheels/` and `checkpoints/` to the hosts.
        lasting: Whether the hosts outlive the fleet, so that what it set up there must be taken back.
    """

    records: Mapping[str, pulumi.Output[dict[str, Any]]]
    mirror: pulumi.Output[str]
    lasting: bool = False

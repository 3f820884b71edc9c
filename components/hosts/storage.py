"""Where the checkpoints of each host lie, from the plan. Pure."""

from typing import Any, Final

from stacks.planning import disks
from stacks.planning.plan import FleetPlan

ROLE: Final = "storage"
_TOOLS: Final = {"disk": "xfsprogs", "nfs": "nfs-common"}
"""Kind → package that mounts it."""


def packages(plan: FleetPlan) -> list[str]:
    """Return the distribution packages that mount what the hosts of a plan name."""
    kinds = {host.checkpoints.kind for host in plan.hosts if host.checkpoints}
    return [package for kind, package in _TOOLS.items() if kind in kinds]


def of_hosts(plan: FleetPlan) -> dict[str, dict[str, Any]]:
    """Return host name → variables of the role; only hosts that have storage of their own are there."""
    return {
        host.name: {
            "storage_kind": host.checkpoints.kind,
            "storage_source": host.checkpoints.source,
            "storage_mib": disks.checkpoint_mib(plan),
        }
        for host in plan.hosts
        if host.checkpoints
    }

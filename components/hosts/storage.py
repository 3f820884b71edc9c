"""Where the checkpoints of each host lie, from the plan. Pure."""

from typing import Any, Final

from stacks.planning.hosts import PlannedHost
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
        host.name: {"storage_kind": host.checkpoints.kind, "storage_source": host.checkpoints.source}
        for host in plan.hosts
        if host.checkpoints
    }


def system_disk_mib(plan: FleetPlan, host: PlannedHost) -> int:
    """Return what the system's disk of a host has to have free, in MiB; 0: nobody can say."""
    if plan.disk_mib is None or host.checkpoints is None:
        return plan.disk_mib or 0
    elsewhere = (plan.checkpoint.stored_bytes or 0) + ((plan.draft.tensor_bytes or 0) if plan.draft else 0)
    return max(plan.disk_mib - elsewhere // 2**20, 0)

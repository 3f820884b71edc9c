"""Where the checkpoints of each host lie, from the plan. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from stacks.planning.hosts import PlannedHost
from stacks.planning.plan import FleetPlan

ROLE: Final = "storage"
_TOOLS: Final = {"disk": "xfsprogs", "nfs": "nfs-common"}
"""Kind → package that mounts it."""


def place(plan: FleetPlan, host: PlannedHost) -> tuple[str, str] | None:
    """Return kind and source of the storage of a host; None where its system's disk holds checkpoints."""
    storage = plan.claims.storage if plan.claims else None
    own = host.listed.disk if host.listed else None
    given = {
        "path": storage.path if storage else None,
        "disk": own or (storage.disk if storage else None),
        "nfs": storage.nfs if storage else None,
    }
    return next(((kind, source) for kind, source in given.items() if source), None)


def packages(plan: FleetPlan) -> list[str]:
    """Return the distribution packages that mount what the hosts of a plan name."""
    kinds = {found[0] for host in plan.hosts if (found := place(plan, host))}
    return [package for kind, package in _TOOLS.items() if kind in kinds]


def of_hosts(plan: FleetPlan) -> dict[str, dict[str, Any]]:
    """Return host name → variables of the role; only hosts that have storage of their own are there."""
    found = {host.name: place(plan, host) for host in plan.hosts}
    return {
        name: {"storage_kind": there[0], "storage_source": there[1]} for name, there in found.items() if there
    }


def merged(*variables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return host name → all of its variables."""
    names = dict.fromkeys(name for each in variables for name in each)
    return {name: {k: v for each in variables for k, v in each.get(name, {}).items()} for name in names}


def system_disk_mib(plan: FleetPlan, host: PlannedHost) -> int:
    """Return what the system's disk of a host has to have free, in MiB; 0: nobody can say."""
    if plan.disk_mib is None or place(plan, host) is None:
        return plan.disk_mib or 0
    elsewhere = (plan.checkpoint.stored_bytes or 0) + ((plan.draft.tensor_bytes or 0) if plan.draft else 0)
    return max(plan.disk_mib - elsewhere // 2**20, 0)

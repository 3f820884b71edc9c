"""How much of a plan lies on the disk of a machine's system, and how much where its checkpoints do. Pure."""

from stacks.planning.hosts import PlannedHost
from stacks.planning.plan import FleetPlan


def checkpoint_mib(plan: FleetPlan) -> int:
    """Return what checkpoint and draft take, in MiB; what is unknown counts nothing."""
    draft = plan.draft.tensor_bytes if plan.draft else None
    return ((plan.checkpoint.stored_bytes or 0) + (draft or 0)) // 2**20


def system_mib(plan: FleetPlan, host: PlannedHost) -> int | None:
    """Return what the disk of a machine's system takes, in MiB; None where nobody can say."""
    if plan.disk_mib is None or host.checkpoints is None:
        return plan.disk_mib
    return max(plan.disk_mib - checkpoint_mib(plan), 0)

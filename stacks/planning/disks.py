"""How much of a plan lies on the disk of a machine's system, and how much where its checkpoints do. Pure."""

from stacks.planning.hosts import PlannedHost
from stacks.planning.memory import mib
from stacks.planning.plan import Checkpoint, DraftPin, FleetPlan


def weights(checkpoint: Checkpoint, draft: DraftPin | None) -> int | None:
    """Return the bytes of checkpoint and draft; None where nobody knows the former's.

    A draft of unknown size counts nothing.
    """
    stored = checkpoint.stored_bytes
    return None if stored is None else stored + ((draft.tensor_bytes or 0) if draft else 0)


def checkpoint_mib(plan: FleetPlan) -> int:
    """Return what checkpoint and draft take, in MiB; what is unknown counts nothing."""
    return mib(weights(plan.checkpoint, plan.draft) or 0)


def system_mib(plan: FleetPlan, host: PlannedHost) -> int | None:
    """Return what the disk of a machine's system takes, in MiB; None where nobody can say."""
    if plan.disk_mib is None or host.checkpoints is None:
        return plan.disk_mib
    return max(plan.disk_mib - checkpoint_mib(plan), 0)

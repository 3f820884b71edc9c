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


def engine_mib(plan: FleetPlan) -> int:
    """Return what the engine takes, in MiB; nothing where nobody knows what it takes with the checkpoint."""
    return 0 if plan.disk_mib is None else plan.disk_mib - checkpoint_mib(plan)


def brought(plan: FleetPlan, host: PlannedHost) -> dict[str, int]:
    """Return folder → MiB of what comes to the disk of a machine's system."""
    here = {plan.engine.home: engine_mib(plan)}
    return here if host.checkpoints else here | {plan.checkpoint.home: checkpoint_mib(plan)}

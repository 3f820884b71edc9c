"""How long the weights take to read."""

from stacks.catalog.models import CheckpointFacts
from stacks.config import BareMetalMachines
from stacks.planning.design import Design
from stacks.planning.plan import LoadTime


def load_time(design: Design) -> LoadTime:
    """Return the time that the hosts need to read the checkpoint, all at once."""
    machines = design.config.machines
    storage = machines.storage if isinstance(machines, BareMetalMachines) else None
    size = stored_bytes(design.checkpoint.facts)
    if storage is None:
        return LoadTime(
            low=None, high=None, assumes="the read speed of the storage is not given (machines.storage.read)"
        )
    if size is None:
        return LoadTime(low=None, high=None, assumes="the size of the checkpoint is unknown")
    least = max(1, min(group.machines for group in design.groups))
    return LoadTime(
        low=size / least / storage.read,
        high=size / storage.read,
        assumes=(
            f"each {design.machine.unit} reads {storage.read / 10**9:g} GB/s while the others do too: at "
            f"least its share of {size / 10**9:,.0f} GB, at most all of it; compiling kernels and "
            "capturing graphs come on top"
        ),
    )


def stored_bytes(checkpoint: CheckpointFacts) -> int | None:
    """Return the bytes of all files as exactly as they are known; None where they are not."""
    known = (checkpoint.file_bytes, checkpoint.tensor_bytes, checkpoint.about_bytes)
    return next((size for size in known if isinstance(size, int)), None)

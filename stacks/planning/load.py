"""How long the weights take to read."""

from collections.abc import Iterator

from stacks.config import BareMetalMachines
from stacks.planning import pins
from stacks.planning.design import Design
from stacks.planning.disks import weights
from stacks.planning.naming import gb
from stacks.planning.spent import LoadTime

_NO_SPEED = "the read speed of the storage is not given (machines.storage.read)"
_LAB = "how fast this machine's own disk reads is not measured"


def load_time(design: Design) -> LoadTime:
    """Return the time that the hosts need to read checkpoint and draft, all at once."""
    machines = design.config.machines
    storage = machines.storage if isinstance(machines, BareMetalMachines) else None
    size = bytes_to_read(design)
    if storage is None or storage.read is None:
        return LoadTime(low=None, high=None, assumes=_LAB if design.lab else _NO_SPEED)
    if size is None:
        return LoadTime(low=None, high=None, assumes="the size of the checkpoint is unknown")
    least = max(1, min(group.machines for group in design.groups))
    clauses = (
        f"each {design.machine.unit} reads {storage.read / 10**9:g} GB/s while the others do too",
        f"at least its share of {gb(size)}, at most all of it",
        not_counted(design),
        "compiling kernels and capturing graphs come on top, and nobody says how long they take",
    )
    return LoadTime(
        low=size / least / storage.read, high=size / storage.read, assumes="; ".join(filter(None, clauses))
    )


def bytes_to_read(design: Design) -> int | None:
    """Return the bytes of checkpoint and draft, what is known of them; None where the former's are not."""
    return weights(pins.checkpoint(design), pins.draft(design))


def not_counted(design: Design) -> str:
    """Return that the draft is left out of figures, where nobody says how large it is; empty where not."""
    draft = pins.draft(design)
    return "draft not counted: its size is unknown" if draft and draft.tensor_bytes is None else ""


def window(design: Design) -> Iterator[str]:
    """Yield that loading is not counted against the reserved time, where nobody knows how long it takes."""
    load = load_time(design)
    if design.config.run.reserved is not None and load.high is None:
        yield (
            "whether the reserved time (run.reserved) is long enough is not certain: loading is not counted, "
            f"for {load.assumes}"
        )

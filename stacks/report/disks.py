"""What lies on which disk of the machines."""

from collections.abc import Iterator

from stacks.planning import FleetPlan
from stacks.planning.disks import checkpoint_mib, engine_mib
from stacks.planning.hosts import CheckpointPlace
from stacks.planning.naming import gb

_PLACES = {"disk": "disk {}", "nfs": "{}, once for all", "path": "{}"}


def disk(plan: FleetPlan) -> str:
    """Return how much lies on the system's disk of each machine, and elsewhere."""
    if plan.disk_mib is None:
        return "unknown, because nobody says how large the checkpoint is"
    return "; ".join(filter(None, (*_parts(plan), plan.not_counted)))


def _parts(plan: FleetPlan) -> Iterator[str]:
    weights = "checkpoint and draft" if plan.draft and not plan.not_counted else "checkpoint"
    elsewhere = [host for host in plan.hosts if host.checkpoints]
    if len(elsewhere) < len(plan.hosts):
        own = f" ({_names(plan, None)})" if elsewhere else ""
        yield f"{_gb(plan.disk_mib)} for engine{',' if ' and ' in weights else ' and'} {weights}{own}"
    if elsewhere:
        yield f"{_gb(engine_mib(plan))} for the engine{_others(plan)}"
        yield f"{_gb(checkpoint_mib(plan))} for {weights} on {' and '.join(_places(plan))}"


def _others(plan: FleetPlan) -> str:
    return " on the others" if any(host.checkpoints is None for host in plan.hosts) else ""


def _places(plan: FleetPlan) -> Iterator[str]:
    """Yield each place of checkpoints, and whose it is where there are several."""
    found = list(dict.fromkeys(host.checkpoints for host in plan.hosts))
    for place in filter(None, found):
        said = _PLACES[place.kind].format(place.source)
        yield f"{said} ({_names(plan, place)})" if len(found) > 1 else said


def _names(plan: FleetPlan, place: CheckpointPlace | None) -> str:
    return ", ".join(host.name for host in plan.hosts if host.checkpoints == place)


def _gb(mib: int | None) -> str:
    return gb((mib or 0) * 2**20)

"""The plan as Markdown that also reads well in a terminal, in the order in which a person decides."""

from collections.abc import Iterator, Sequence
from typing import Literal

from stacks.planning import FleetPlan
from stacks.planning.naming import TIMES, duration, gb, many, split
from stacks.planning.plan import Checkpoint, DraftPin, ModelSummary
from stacks.report import access, host_stack, reached, reasons, shell, sizes
from stacks.report.cited import Cited
from stacks.report.disks import disk
from stacks.report.snippet import entrance, snippet
from stacks.report.words import (
    NOT_OURS,
    devices,
    inner_fabric,
    item,
    lines,
    loading,
    money,
    one,
    places,
    role,
    standing,
    stored,
    table,
)

_YES = {"True": "yes", "False": "no"}


def markdown(plan: FleetPlan) -> str:
    """Return the plan as text; host names stand where addresses are not known yet. Pure."""
    cited = Cited()
    sections = (
        _title(plan),
        _warnings(plan),
        _machines(plan),
        _checkpoint(plan),
        sizes.holds(plan, cited),
        sizes.cache(plan),
        reasons.choices(plan, cited),
        _pins(plan),
        _cost(plan),
        access.section(plan),
        _ports(plan),
        _commands(plan),
        reasons.options(plan, cited),
        reasons.evidence(plan, cited),
        _endpoint(plan, cited),
        cited.listed(),
    )
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _title(plan: FleetPlan) -> Iterator[str]:
    machines = many(len(plan.hosts), plan.machine.unit)
    yield f"# {plan.stack}: {plan.served_name} on {machines} ({devices(plan)})"
    yield ""
    yield from lines(f"**{standing(plan)}**; {NOT_OURS}")
    yield ""
    layouts = "; ".join(f"{group.name} {split(group.parallel)}" for group in plan.groups)
    yield from lines(
        f"{layouts}; {plan.checkpoint.name} on {plan.engine.name}, joined by {plan.fabric.title}; "
        f"context {plan.context:,} tokens"
    )


def _warnings(plan: FleetPlan) -> Iterator[str]:
    yield "## Know before `up`"
    for reason in plan.missing:
        yield from item(f"**not startable yet**: {reason}")
    for pin in plan.unpinned:
        yield from item(f"not pinned: {pin.what}, because {pin.why}")
    for warning in plan.warnings:
        yield from item(warning)
    if not (plan.missing or plan.unpinned or plan.warnings):
        yield "Nothing."


def _machines(plan: FleetPlan) -> Iterator[str]:
    yield f"## Machines ({plan.provider})"
    yield from table(
        (plan.machine.unit, "domain", "has", "engine", "rank", "place in the split", "role"),
        *(
            (
                rank.host,
                _domain(plan, rank.host),
                _size(plan, rank.host),
                group.name,
                str(rank.rank),
                places(group, rank),
                role(group, rank),
            )
            for group in plan.groups
            for rank in group.ranks
        ),
    )
    yield ""
    yield from lines(f"{_type(plan)}; {_joins(plan)}")
    yield from _reached(plan)
    yield from host_stack.items(plan)


def _reached(plan: FleetPlan) -> Iterator[str]:
    said = list(reached.sentences(plan))
    if said:
        yield ""
    for each in said:
        yield from item(each)


def _domain(plan: FleetPlan, host: str) -> str:
    """Return the domain of a machine, and where a person says that it stands."""
    found = next(each for each in plan.hosts if each.name == host)
    place = found.listed.place.words if found.listed and found.listed.place else ""
    return f"{found.domain} ({place})" if place else str(found.domain)


def _size(plan: FleetPlan, name: str) -> str:
    host = next(each for each in plan.hosts if each.name == name)
    if host.cpus:
        return f"{many(host.cpus, 'core')}, {host.memory_mib / 1024:.1f} GiB"
    return f"{plan.machine.gpus} {TIMES} {plan.machine.accelerator.upper()}"


def _type(plan: FleetPlan) -> str:
    machine = plan.machine
    if machine.accelerator == "cpu":
        return f"{machine.title} ({machine.name}, {machine.arch})"
    accelerators = (
        f"{machine.gpus} {TIMES} {machine.accelerator.upper()} ({machine.architecture or 'unknown'})"
    )
    return f"{machine.title} ({machine.name}): {accelerators}, {machine.arch} host"


def _joins(plan: FleetPlan) -> str:
    if plan.image:
        return f"image {plan.image.name}; joined by {plan.fabric.title}"
    domain = f"{inner_fabric(plan)} joins up to {plan.machine.domain} GPUs in a domain"
    return f"{domain}; fabric of the ranks: {plan.fabric.title}"


def _checkpoint(plan: FleetPlan) -> Iterator[str]:
    checkpoint = plan.checkpoint
    yield "## Checkpoint"
    where = f" from {checkpoint.repository}" if checkpoint.repository else ", made here"
    yield from item(
        f"{checkpoint.name} ({checkpoint.label}){where}, revision {checkpoint.revision or 'not pinned yet'}"
    )
    yield from item(_bytes(checkpoint))
    yield from item(_model(plan.model))
    hashed = f"{len(checkpoint.files)} files, each with its SHA-256" if checkpoint.files else "no hashes yet"
    yield from item(f"{hashed}; read from {checkpoint.home} on every {plan.machine.unit}")
    if plan.draft:
        yield from item(_draft(plan.draft))


def _draft(draft: DraftPin) -> str:
    return (
        f"draft {draft.name} from {draft.repository}, revision {draft.revision or 'not pinned yet'}, "
        f"tensors: {_exact(draft.tensor_bytes)}, read from {draft.home}"
    )


def _bytes(checkpoint: Checkpoint) -> str:
    shards = "unknown" if checkpoint.shards is None else f"{checkpoint.shards}"
    about = checkpoint.file_bytes is None and checkpoint.tensor_bytes is None
    rounded = f"; {stored(checkpoint)} as its source rounds it" if about and checkpoint.about_bytes else ""
    return (
        f"files: {_exact(checkpoint.file_bytes)}, shards: {shards}; "
        f"tensors: {_exact(checkpoint.tensor_bytes)}{rounded}"
    )


def _exact(size: int | None) -> str:
    return "unknown" if size is None else f"{gb(size)} ({size:,} bytes)"


def _model(model: ModelSummary) -> str:
    experts = model.experts
    parts = [
        f"exact parameters: {'unknown' if model.parameters is None else f'{model.parameters:,}'}",
        f"layers: {model.layers}",
    ]
    if experts:
        active = f"{experts.active} of them for each token"
        parts.append(f"experts: {experts.routed} routed, {active}, {experts.shared} shared")
    return f"model: {model.title}; {'; '.join(parts)}"


def _pins(plan: FleetPlan) -> Iterator[str]:
    engine, fabric = plan.engine, plan.fabric
    yield "## Pins"
    lock = f"{engine.lock} (SHA-256 {engine.lock_digest[:12]}…)" if engine.lock else "lock not pinned yet"
    yield from item(f"engine {engine.name}: release {engine.release} for {engine.variant}, {lock}")
    if engine.image:
        yield from item(f"image with the same engine: {engine.image}")
    elif engine.image_unpinned:
        needed = "; not needed: the lock is installed" if engine.lock else ""
        yield from item(f"image: not pinned, because {engine.image_unpinned}{needed}")
    if plan.provider != "lab":
        library = "RCCL" if engine.variant == "rocm" else "NCCL"
        floor = engine.driver_floor or "unknown"
        yield from item(f"oldest driver that it runs with: {floor}; {library}: {engine.nccl or 'unknown'}")
    for what, pin in fabric.pins.items():
        yield from item(f"{what}: {pin}")
    yield from item(f"host packages: {', '.join(plan.packages)}")
    yield from item(f"disk of each {plan.machine.unit}: {disk(plan)}")


def _cost(plan: FleetPlan) -> Iterator[str]:
    cost = plan.cost
    yield "## Time and cost"
    yield from item(f"reading the weights: {loading(plan)}; {plan.load.assumes}")
    if cost.per_hour is None:
        yield from item(f"an hour of {many(cost.gpus, one(plan))}: unknown, because {cost.source}")
    else:
        yield from item(
            f"an hour of {many(cost.gpus, one(plan))}: {money(plan, cost.per_hour)}; {cost.source}"
        )
        yield from item(f"loading and one evaluation: {money(plan, cost.per_evaluation)}; {cost.assumes}")
    if cost.per_reservation is not None:
        yield from item(f"the whole reservation: {money(plan, cost.per_reservation)}")
    yield from item(f"deadlines: {_deadlines(plan)}")


def _deadlines(plan: FleetPlan) -> str:
    budget = plan.budget
    checkpoint, ready = (
        "unknown" if plan.checkpoint.stored_bytes is None else duration(seconds)
        for seconds in (budget.checkpoint, budget.ready)
    )
    said = (
        f"prepare {duration(budget.prepare)}, then engine {duration(budget.engine)} beside checkpoint "
        f"{checkpoint} and access {duration(budget.access)}, serve {duration(budget.serve)}, "
        f"first completion {ready}"
    )
    return "; ".join(filter(None, (said, plan.not_counted)))


def _ports(plan: FleetPlan) -> Iterator[str]:
    yield "## Ports (TCP)"
    yield f"- {plan.access.port} on {plan.access.host}: the gateway"
    for group in plan.groups:
        ports, head = group.ports, group.head.host
        serving = ", ".join(rank.host for rank in group.ranks if rank.serves)
        yield from item(f"{ports.http} on {serving}: the engine's API, for the gateway only")
        if len(group.ranks) > 1:
            yield from item(f"{ports.rendezvous} on {head}: the ranks meet")
        if group.parallel.data_parallel > 1:
            yield from item(f"{ports.data_parallel} on {head}: the data parallel ranks meet")
        if ports.side_channel is not None:
            yield from item(f"{ports.side_channel} and up on {group.name}: prefill hands its cache to decode")
    if len(plan.ranks) > 1:
        yield "- ephemeral ports between the machines: the engine's own links"
    yield f"- {plan.ports.internal} and up: inside the engine"


def _commands(plan: FleetPlan) -> Iterator[str]:
    unknown = any(host.listed is None for host in plan.hosts)
    yield f"## Commands{' (host names stand for addresses)' if unknown else ''}"
    yield from shell.blocks(plan)


def _endpoint(plan: FleetPlan, cited: Cited) -> Iterator[str]:
    known = plan.endpoint
    yield "## Endpoint"
    facts = {
        "address": entrance(plan) or "that of a router in front of the machines that serve the API",
        "reasoning parser": known.reasoning_parser or "none, the model does not reason",
        "tool call parser": known.tool_parser or "none, no tools",
        "reasoning effort": _efforts(known.efforts),
        "preserved thinking": _YES.get(str(known.preserved_thinking), "unknown"),
        "sampling": ", ".join(f"{name} {value}" for name, value in known.sampling.items()) or "unknown",
        "client timeout": f"{known.timeout} s",
    }
    said = "; ".join(f"{what}: {value}" for what, value in facts.items())
    yield from lines(f"{said} {cited.mark(known.source)}")
    yield ""
    yield "```python"
    yield from snippet(plan, entrance(plan)).rstrip().split("\n")
    yield "```"


def _efforts(levels: Sequence[str] | Literal["unknown"]) -> str:
    if levels == "unknown":
        return levels
    return f"{', '.join(levels)} (the first is the default)" if levels else "no such setting"

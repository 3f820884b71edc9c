"""The plan as Markdown that also reads well in a terminal, in the order in which a person decides."""

from collections.abc import Iterator

from stacks.planning import FleetPlan
from stacks.report import reasons, shell, sizes
from stacks.report.cited import Cited
from stacks.report.snippet import snippet
from stacks.report.words import (
    NOT_OURS,
    TIMES,
    devices,
    duration,
    gb,
    inner_fabric,
    item,
    lines,
    loading,
    many,
    money,
    one,
    places,
    role,
    split,
    standing,
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
    layouts = "; ".join(f"{group.name} {split(group)}" for group in plan.groups)
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
        (plan.machine.unit, "domain", "has", "engine", "rank", "GPUs stand at", "role"),
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
    yield from lines(f"{plan.machine.title} ({plan.machine.name}, {plan.machine.arch}); {_joins(plan)}")


def _domain(plan: FleetPlan, host: str) -> str:
    return str(next(each.domain for each in plan.hosts if each.name == host))


def _size(plan: FleetPlan, name: str) -> str:
    host = next(each for each in plan.hosts if each.name == name)
    if host.cpus:
        return f"{many(host.cpus, 'core')}, {host.memory_mib / 1024:.1f} GiB"
    return f"{plan.machine.gpus} {TIMES} {plan.machine.accelerator.upper()}"


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
    tensors = "unknown" if checkpoint.tensor_bytes is None else f"{checkpoint.tensor_bytes:,} bytes"
    shards = "unknown" if checkpoint.shards is None else f"{checkpoint.shards}"
    yield from item(
        f"{gb(checkpoint.stored_bytes)} in files ({checkpoint.stored_bytes:,} bytes, shards: {shards}); "
        f"tensors: {tensors}"
    )
    hashed = f"{len(checkpoint.files)} files, each with its SHA-256" if checkpoint.files else "no hashes yet"
    yield from item(f"{hashed}; read from {checkpoint.home} on every {plan.machine.unit}")
    if plan.draft:
        yield from item(
            f"draft {plan.draft.name} from {plan.draft.repository}, "
            f"revision {plan.draft.revision or 'not pinned yet'}, read from {plan.draft.home}"
        )


def _pins(plan: FleetPlan) -> Iterator[str]:
    engine, fabric = plan.engine, plan.fabric
    yield "## Pins"
    lock = f"{engine.lock} (SHA-256 {engine.lock_digest[:12]}…)" if engine.lock else "lock not pinned yet"
    yield from item(f"engine {engine.name}: release {engine.release} for {engine.variant}, {lock}")
    if engine.image:
        yield from item(f"image with the same engine: {engine.image}")
    if plan.provider != "lab":
        yield from item(
            f"driver {engine.driver_floor or 'unknown'} or newer; NCCL {engine.nccl or 'unknown'}"
        )
    for what, pin in fabric.pins.items():
        yield from item(f"{fabric.title}: {what} {pin}")
    yield from item(
        f"host packages: {', '.join(plan.packages)}; disk {plan.disk_mib / 1024:,.1f} GiB "
        f"for engine and checkpoint"
    )


def _cost(plan: FleetPlan) -> Iterator[str]:
    cost, budget = plan.cost, plan.budget
    yield "## Time and cost"
    yield from item(f"reading the weights: {loading(plan)}; {plan.load.assumes}")
    yield from item(f"an hour of {many(cost.gpus, one(plan))}: {money(plan, cost.per_hour)}; {cost.source}")
    if cost.per_hour is not None:
        yield from item(f"loading and one evaluation: {money(plan, cost.per_evaluation)}")
    yield from item(
        f"deadlines: prepare {duration(budget.prepare)}, then engine {duration(budget.engine)} "
        f"beside checkpoint {duration(budget.checkpoint)}, serve {duration(budget.serve)}, "
        f"first completion {duration(budget.ready)}"
    )


def _ports(plan: FleetPlan) -> Iterator[str]:
    yield "## Ports (TCP)"
    for group in plan.groups:
        ports, head = group.ports, group.head.host
        serving = ", ".join(rank.host for rank in group.ranks if rank.serves)
        yield from item(f"{ports.http} on {serving}: OpenAI-compatible API under /v1")
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
    yield "## Commands (host names stand for addresses)"
    yield from shell.blocks(plan)


def _endpoint(plan: FleetPlan, cited: Cited) -> Iterator[str]:
    known = plan.endpoint
    efforts = ", ".join(known.efforts)
    yield "## Endpoint"
    facts = {
        "reasoning parser": known.reasoning_parser or "none, the model does not reason",
        "tool call parser": known.tool_parser or "none, no tools",
        "reasoning effort": f"{efforts} (the first is the default)" if efforts else "no such setting",
        "preserved thinking": _YES.get(str(known.preserved_thinking), "unknown"),
        "sampling": ", ".join(f"{name} {value}" for name, value in known.sampling.items()) or "unknown",
        "client timeout": f"{known.timeout} s",
    }
    said = "; ".join(f"{what}: {value}" for what, value in facts.items())
    yield from lines(f"{said} {cited.mark(known.source)}")
    yield ""
    yield "```python"
    yield from snippet(plan, f"http://{plan.head.host}:{plan.ports.http}/v1").rstrip().split("\n")
    yield "```"

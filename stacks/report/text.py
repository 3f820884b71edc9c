"""The plan as Markdown that also reads well in a terminal."""

import shlex
from collections.abc import Iterator
from itertools import pairwise

from stacks.planning import FleetPlan, RankCommand, commands

_WIDTH = 96


def text(plan: FleetPlan) -> str:
    """Return the plan as text; host names stand where addresses are not known yet. Pure."""
    sections = (_title, _warnings, _machines, _memory, _ports, _pins, _deadlines, _commands)
    return "\n\n".join("\n".join(section(plan)) for section in sections) + "\n"


def _title(plan: FleetPlan) -> Iterator[str]:
    ranks = "1 rank" if len(plan.ranks) == 1 else f"{len(plan.ranks)} ranks"
    yield f"# {plan.stack}: {plan.served_name} on {len(plan.hosts)} {plan.provider} host(s)"
    yield ""
    yield f"{ranks}, tensor parallel {plan.tensor_parallel}, over {plan.fabric}; context {plan.context:,}."
    yield f"Evidence: {plan.evidence}."


def _warnings(plan: FleetPlan) -> Iterator[str]:
    yield "## Know before `up`"
    yield ""
    yield from (f"- {warning}" for warning in plan.warnings)


def _machines(plan: FleetPlan) -> Iterator[str]:
    yield f"## Machines ({plan.provider}, image {plan.image.name})"
    yield ""
    for host, rank in zip(plan.hosts, plan.ranks, strict=True):
        role = "head, serves the API" if rank == plan.head else "headless"
        size = f"{host.cpus} core(s), {_gib(host.memory_mib)}"
        yield f"- {host.name}: {size}; rank {rank.rank} on core {rank.core}, {role}"


def _memory(plan: FleetPlan) -> Iterator[str]:
    need, given = plan.memory, plan.hosts[0].memory_mib
    yield "## Memory and disk per host"
    yield ""
    yield f"- rank: {_gib(need.total)} of {_gib(given)}, {_gib(given - need.total)} spare"
    yield f"- of that weights {need.weights} MiB, KV cache {need.kv_cache} MiB, engine {need.engine} MiB"
    yield f"- disk: {_gib(plan.disk_mib)} for engine and checkpoint"


def _ports(plan: FleetPlan) -> Iterator[str]:
    ports, head = plan.ports, plan.head.host
    yield "## Ports (TCP)"
    yield ""
    yield f"- {ports.http} on {head}: OpenAI-compatible API under /v1"
    if len(plan.ranks) > 1:
        yield f"- {ports.rendezvous} on {head}: the ranks meet"
        yield "- ephemeral ports between the hosts: the engine's own links"
    yield f"- {ports.internal} and up: inside the engine"


def _pins(plan: FleetPlan) -> Iterator[str]:
    engine, checkpoint = plan.engine, plan.checkpoint
    yield "## Pins"
    yield ""
    lock = f"{engine.lock} (SHA-256 {engine.lock_digest[:12]}…)"
    yield f"- engine {engine.name}: release {engine.release}, {lock}"
    yield (
        f"- checkpoint {checkpoint.name}: revision {checkpoint.revision}, "
        f"{len(checkpoint.files)} files, {checkpoint.size:,} bytes, each with its SHA-256"
    )
    yield f"- host packages: {', '.join(plan.packages)}"


def _deadlines(plan: FleetPlan) -> Iterator[str]:
    budget = plan.budget
    yield "## Deadlines"
    yield ""
    yield (
        f"prepare {budget.prepare:.0f} s, then engine {budget.engine:.0f} s beside checkpoint "
        f"{budget.checkpoint:.0f} s, serve {budget.serve:.0f} s, first completion {budget.ready:.0f} s"
    )


def _commands(plan: FleetPlan) -> Iterator[str]:
    yield "## Commands (host names stand for addresses)"
    for command in commands(plan, {host.name: host.name for host in plan.hosts}):
        yield ""
        yield f"Rank {command.rank} on {command.host}:"
        yield ""
        yield from _shell(command)


def _shell(command: RankCommand) -> Iterator[str]:
    """Yield the command as an indented Markdown code block, ready to paste into a shell."""
    env = [shlex.join([f"{name}={value}"]) for name, value in command.env.items()]
    lines = [*_packed(["env", *env]), *_packed(list(_options(command.argv)))]
    yield from " \\\n".join(f"    {line}" for line in lines).split("\n")


def _options(argv: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of a command, each option together with its values."""
    starts = [i for i, word in enumerate(argv) if i == 0 or word.startswith("--")]
    for start, end in pairwise([*starts, len(argv)]):
        yield shlex.join(argv[start:end])


def _packed(words: list[str]) -> Iterator[str]:
    line = words[0]
    for word in words[1:]:
        if len(line) + len(word) > _WIDTH:
            yield line
            line = f"  {word}"
        else:
            line = f"{line} {word}"
    yield line


def _gib(mib: int) -> str:
    return f"{mib / 1024:.1f} GiB"

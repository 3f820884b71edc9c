"""The exact command and environment of every rank."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from stacks.config import Setting
from stacks.planning import membership
from stacks.planning.plan import EngineGroup, FleetPlan, Rank
from stacks.planning.reasons import Option
from stacks.values import Value


class RankCommand(Value):
    """How one rank is started.

    Attributes:
        group: Name of its engine: serve, prefill or decode.
        rank: Node rank in its engine; 0 is the head.
        host: Name of its host.
        argv: Program and arguments, never through a shell.
        env: Environment without secrets; the API key reaches the head through a file.
    """

    group: str
    rank: int
    host: str
    argv: tuple[str, ...]
    env: Mapping[str, str]


def commands(
    plan: FleetPlan, addresses: Mapping[str, str], own: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> tuple[RankCommand, ...]:
    """Return the commands of all ranks, engine by engine in rank order. Pure.

    Args:
        plan: The fleet.
        addresses: Host name → address that the other members reach; a preview passes the names themselves.
        own: Host name → variables that only the host could tell (its interfaces); what the plan sets wins.
    """
    return tuple(
        RankCommand(
            group=group.name,
            rank=rank.rank,
            host=rank.host,
            argv=tuple(_argv(plan, group, rank, addresses)),
            env={**own.get(rank.host, {}), **_env(plan, group, rank, addresses)},
        )
        for group in plan.groups
        for rank in group.ranks
    )


def membership_reasons(plan: FleetPlan, group: EngineGroup) -> tuple[Option, ...]:
    """Return what is written for each rank of an engine, with its reason.

    The value is that of the first rank that has it. The model's folder comes first, as `model`, and the
    variables come last.
    """
    addresses = {host.name: host.name for host in plan.hosts}
    found = {"model": _model(plan)}
    for part in (membership.flags, membership.env):
        for rank in group.ranks:
            for option in part(plan, group, rank, addresses):
                found.setdefault(option.name, option)
    return tuple(found.values())


def words(option: Option) -> tuple[str, ...]:
    """Return an option as the engine's command line takes it."""
    flag = f"--{option.name}"
    if isinstance(option.value, bool):
        return (flag,) if option.value else (f"--no-{option.name}",)
    if isinstance(option.value, list):
        return (flag, *map(text, option.value))
    value = text(option.value)
    # A value that looks like an option is taken for one, unless it is joined to its own.
    return (f"{flag}={value}",) if value.startswith("-") else (flag, value)


def text(value: Setting) -> str:
    """Return a value in words of its own: a mapping as JSON, a switch as 1 or 0."""
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _argv(plan: FleetPlan, group: EngineGroup, rank: Rank, addresses: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{plan.engine.home}/bin/vllm", "serve", plan.checkpoint.home)
    own = membership.flags(plan, group, rank, addresses)
    names = {option.name for option in own}
    for option in (*own, *(other for other in group.options if other.name not in names)):
        yield from words(option)


def _env(plan: FleetPlan, group: EngineGroup, rank: Rank, addresses: Mapping[str, str]) -> dict[str, str]:
    chosen = (*group.env, *membership.env(plan, group, rank, addresses))
    return {option.name: text(option.value) for option in sorted(chosen, key=lambda each: each.name)}


def _model(plan: FleetPlan) -> Option:
    published = plan.checkpoint.repository or plan.checkpoint.name
    return Option(
        name="model",
        value=plan.checkpoint.home,
        why=f"the verified copy on the host stands in for {published}: nothing is downloaded at the start",
        source="vLLM 0.33.0, vllm/entrypoints/cli/serve.py",
        origin="planner",
    )

"""What makes a fleet impossible: each rule yields one sentence with the value, the rule and the way out."""

import re
from collections.abc import Collection, Iterator
from itertools import chain

from stacks.catalog import Catalog, Engine, Model
from stacks.config import KEY, FleetConfig
from stacks.faults import nearest, shown
from stacks.planning.memory import rank_memory

# Becomes a fleet's name with the checkout's digest behind it ("-3fa2c1"), and that names folders: 100 in all.
_STACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,92}")


def broken_rules(config: FleetConfig, catalog: Catalog, stack: str) -> Iterator[str]:
    """Yield every rule that the fleet breaks; rules about an entry that is not known are left out."""
    model, engine = catalog.models.get(config.model), catalog.engines.get(config.engine)
    yield from _stack_names_a_fleet(stack)
    yield from _in_the_catalog("machines.image", config.machines.image, catalog.images)
    yield from _in_the_catalog("model", config.model, catalog.models)
    yield from _in_the_catalog("engine", config.engine, catalog.engines)
    yield from _one_rank_per_host(config)
    if model:
        yield from chain(_heads_divide(config, model), _context_has_positions(config, model))
    if model and engine:
        yield from _memory_fits(config, model, engine)


def _stack_names_a_fleet(stack: str) -> Iterator[str]:
    if not _STACK.fullmatch(stack):
        yield (
            f"stack: {shown(stack)} cannot name a fleet; rename it (`pulumi stack rename`) to at most 93 "
            "letters, digits, '.', '_' or '-', with a letter or digit first"
        )


def _in_the_catalog(key: str, name: str, known: Collection[str]) -> Iterator[str]:
    if name not in known:
        yield f"{KEY}.{key}: {shown(name)} is not in the catalog; {nearest(name, list(known))}"


def _one_rank_per_host(config: FleetConfig) -> Iterator[str]:
    ranks, hosts = config.layout.tensor_parallel, config.machines.hosts
    if ranks != hosts:
        yield (
            f"{KEY}.layout.tensor_parallel: {ranks} ranks do not fit machines.hosts: {hosts}; a lab host "
            f"carries exactly one rank, so write tensor_parallel: {hosts} or hosts: {ranks}"
        )


def _heads_divide(config: FleetConfig, model: Model) -> Iterator[str]:
    ranks = config.layout.tensor_parallel
    heads, kv_heads = model.facts.attention_heads, model.facts.kv_heads
    fitting = [n for n in range(1, heads + 1) if not heads % n and _kv_heads_fit(n, kv_heads)]
    if ranks not in fitting:
        yield (
            f"{KEY}.layout.tensor_parallel: {ranks} does not divide the {heads} attention heads and "
            f"{kv_heads} KV heads of {model.name}; write one of {_listed(fitting)}"
        )


def _kv_heads_fit(ranks: int, kv_heads: int) -> bool:
    """Return whether KV heads can be shared out, or copied where there are more ranks than heads."""
    return not kv_heads % ranks or not ranks % kv_heads


def _context_has_positions(config: FleetConfig, model: Model) -> Iterator[str]:
    longest = model.facts.max_positions
    if config.context > longest:
        yield (
            f"{KEY}.context: {config.context} is more than the {longest} positions of {model.name}; "
            f"write {longest} or less"
        )


def _memory_fits(config: FleetConfig, model: Model, engine: Engine) -> Iterator[str]:
    need, given = rank_memory(config, model, engine), config.machines.memory_gib
    least = -(-need.total // 1024)
    if given < least:
        yield (
            f"{KEY}.machines.memory_gib: {given} is too little: a rank needs {need.total} MiB (weights "
            f"{need.weights}, KV cache {need.kv_cache}, engine {need.engine}); write {least} or more"
        )


def _listed(values: Collection[int]) -> str:
    return ", ".join(str(value) for value in sorted(values))

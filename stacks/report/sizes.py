"""The sections on memory: what each GPU holds, and how many requests that leaves room for."""

from collections.abc import Iterator

from stacks.planning import FleetPlan
from stacks.planning.naming import gib, many, split
from stacks.planning.plan import EngineGroup
from stacks.report.cited import Cited
from stacks.report.words import at_once, item, memory, one, table, whole


def holds(plan: FleetPlan, cited: Cited) -> Iterator[str]:
    """Yield what each GPU holds."""
    yield f"## What each {one(plan)} holds"
    for index, group in enumerate(plan.groups):
        if index:
            yield ""
        yield from _parts(plan, group)
        yield ""
        for part in group.memory.parts:
            yield from item(f"{part.name}: {part.why} {cited.mark(part.source)}")


def _parts(plan: FleetPlan, group: EngineGroup) -> Iterator[str]:
    held = group.memory
    yield from table(
        (f"{group.name}, {split(group.parallel)}", "memory"),
        *((part.name, f"{'at least ' * part.at_least}{memory(part.size)}") for part in held.parts),
        ("left for the cache", memory(held.pool)),
        ("together, the engine's share", gib(held.usable)),
        (f"memory of the {one(plan)}", gib(held.capacity)),
    )


def cache(plan: FleetPlan) -> Iterator[str]:
    """Yield how keys, values and recurrent state are laid out, and what fits."""
    yield "## Requests at once"
    for index, group in enumerate(plan.groups):
        if index:
            yield ""
        yield from _fits(plan, group)
        yield ""
        yield from _layout(group)


def _fits(plan: FleetPlan, group: EngineGroup) -> Iterator[str]:
    yield from table(
        (f"{group.name}: tokens of a request", "blocks", f"memory of each {one(plan)}", _fit(group)),
        *(
            (f"{each.tokens:,}", f"{each.blocks:,}", gib(each.size), at_once(each))
            for each in group.cache.requests
        ),
    )


def _fit(group: EngineGroup) -> str:
    ranks = group.parallel.data_parallel
    return "fit at once" if ranks == 1 else f"fit on each of {ranks} ranks"


def _layout(group: EngineGroup) -> Iterator[str]:
    found = group.cache
    let_in = (
        "the engine's default of requests is let in at once"
        if group.max_num_seqs is None
        else f"at most {many(group.max_num_seqs, 'request')} in flight"
    )
    pools = group.parallel.data_parallel
    each = "" if pools == 1 else f" in each of {pools} pools, one for each data parallel rank"
    yield from item(
        f"pool: {whole(found.blocks)} blocks of {found.block_bytes:,} bytes = {whole(found.tokens)} tokens"
        f" at the longest context{each}; {let_in}"
    )
    yield from item(
        f"block: {found.block_tokens:,} tokens, one page of {found.page:,} bytes in each of "
        f"{many(found.group_layers, 'layer')}; groups of layers that draw on the pool: {found.groups}"
    )
    keeps = "kept" if found.prefix_caching else "not kept"
    if found.state is None:
        yield from item(f"keys and values in {found.kv_cache}; no recurrent state; prefixes are {keeps}")
    else:
        yield from item(
            f"keys and values in {found.kv_cache}; recurrent state in {found.state}, "
            f"{found.state_bytes:,} bytes a layer, {many(found.state_blocks, 'block')} of each request; "
            f"prefixes are {keeps}"
        )
    for note in found.notes:
        yield from item(note)

"""Whether weights, cache and requests fit the memory of each GPU."""

from collections.abc import Iterator

from stacks.catalog.models import DocumentedLayout
from stacks.config import Disaggregated
from stacks.planning.design import Design, GroupDesign
from stacks.planning.memory import mib, size, weights
from stacks.planning.naming import gb, gib, spelled, split, titled
from stacks.planning.rules.rule import Finding, Rule, called, either, number_format
from stacks.planning.sized import Cache, GpuMemory, Sized

SHARE = "gpu-memory-utilization"
_SIZES = ("block-size", "max-cudagraph-capture-size", "max-num-batched-tokens", "max-num-seqs")


def _weights_and_a_request_fit(design: Design, sized: Sized) -> Iterator[Finding]:
    for group in design.groups:
        memory, cache = sized[group.name]
        if fits(design, memory, cache):
            continue
        if design.lab:
            yield _lab(memory)
        elif memory.pool.high >= (cache.state_blocks + 2) * cache.block_bytes:
            longest = _longest(group, memory, cache)
            shorter = f", or write workload.context: {longest} or less"
            yield _to_blame(design, group, shorter) or _context_too_long(design, group, memory, cache)
        elif by_hand := _to_blame(design, group, ""):
            yield by_hand
        else:
            yield _weights_too_large(design, group, memory, cache)


def _to_blame(design: Design, group: GroupDesign, shorter: str) -> Finding | None:
    """Return what is set by hand and keeps the request out, which fits without it.

    Args:
        design: The fleet.
        group: The engine.
        shorter: What would fit beside it; empty where nothing would.
    """
    for name in (SHARE, "block-size"):
        if name in design.config.flags and fits(*_sized(design, group, name)):
            return Finding(
                f"flags.{name}",
                spelled(design.config.flags[name]),
                f"leaves no room for one request of {design.context:,} tokens beside the weights"
                f"{_of(design, group)}, which fits without it",
                f"leave it out{shorter}",
            )
    return None


def _sized(design: Design, group: GroupDesign, name: str) -> tuple[Design, GpuMemory, Cache]:
    other, engine = without(design, group, name)
    return other, *size(other, engine)


def without(design: Design, group: GroupDesign, name: str) -> tuple[Design, GroupDesign]:
    """Return a fleet and an engine of it as they are where an option is not set by hand."""
    rest = {key: value for key, value in design.config.flags.items() if key != name}
    other = design.model_copy(update={"config": design.config.model_copy(update={"flags": rest})})
    share = (design.profile and design.profile.utilization) or design.engine.facts.utilization
    return other, group.model_copy(update={"utilization": share}) if name == SHARE else group


def fits(design: Design, memory: GpuMemory, cache: Cache) -> bool:
    """Return whether one request of the longest context fits beside the weights, at best, or may fit."""
    if design.lab:
        return memory.needed <= memory.capacity
    if not memory.weighed:
        return True
    # The engine keeps one block back (v1/core/block_pool.py).
    return cache.requests[0].size + cache.block_bytes <= memory.pool.high


def _lab(memory: GpuMemory) -> Finding:
    parts = ", ".join(f"{part.name} {mib(part.size.high)}" for part in memory.parts)
    return Finding(
        "machines.memory_gib",
        memory.capacity // 2**30,
        f"is too little: a rank needs {mib(memory.needed)} MiB ({parts}, KV cache {mib(memory.pool.high)})",
        f"write {-(-memory.needed // 2**30)} or more",
    )


def _context_too_long(design: Design, group: GroupDesign, memory: GpuMemory, cache: Cache) -> Finding:
    return Finding(
        "workload.context",
        design.context,
        f"tokens take {gib(cache.requests[0].size)} of each GPU, where "
        f"{gib(memory.pool.high)} are left "
        f"beside the weights{_of(design, group)}",
        f"write {_longest(group, memory, cache)} or less",
    )


def _longest(group: GroupDesign, memory: GpuMemory, cache: Cache) -> int:
    """Return the tokens of the longest request that fits."""
    blocks = memory.pool.high // cache.block_bytes - cache.state_blocks - 1
    return blocks * cache.block_tokens * group.parallel.decode_context_parallel


def _weights_too_large(design: Design, group: GroupDesign, memory: GpuMemory, cache: Cache) -> Finding:
    request = cache.requests[0]
    least = {part.name: part.size.low or part.size.high for part in memory.parts}
    parts = ", ".join(f"{name} {gib(size) if size else 'unknown'}" for name, size in least.items())
    needs = sum(least.values()) + request.size
    return Finding(
        "layout" if design.config.layout else "machines.type",
        f"{split(group.parallel)} on {group.parallel.gpus} x {design.machine.accelerator} "
        f"({gb(memory.capacity)}, {gib(memory.capacity)} each)",
        f"cannot hold {called(design)} {number_format(design)}: each GPU needs at least "
        f"{gib(needs)} ({parts}, one request of {request.tokens:,} tokens "
        f"{gib(request.size)}) of the "
        f"{gib(memory.usable)} that the engine takes of it, {gib(needs - memory.usable)} too much"
        f"{_of(design, group)}",
        f"take more GPUs or larger ones{_larger(design)}",
    )


def _of(design: Design, group: GroupDesign) -> str:
    return f" ({group.name})" if len(design.groups) > 1 else ""


def _larger(design: Design) -> str:
    """Return documented layouts of this checkpoint that put less on each GPU."""
    layouts = [each for each in design.model.facts.layouts if design.checkpoint_name in each.checkpoints]
    here = [
        f"{titled(each.title)} on {each.layout.gpus} GPUs over {either(list(each.fabrics))}"
        for each in layouts
        if design.machine.accelerator in each.accelerators and _is_lighter(design, each)
    ]
    there = sorted({name for each in layouts for name in each.accelerators} - {design.machine.accelerator})
    if here:
        return f"; documented here: {either(here)}"
    return f"; documented on {either(there)}" if there else ""


def _is_lighter(design: Design, each: DocumentedLayout) -> bool:
    """Return whether a layout leaves less of the weights on a GPU, at best; where unknown, any other one."""
    layout = each.layout
    theirs = (layout.prefill, layout.decode) if isinstance(layout, Disaggregated) else (layout,)
    ours = tuple(group.parallel for group in design.groups)
    facts, shape = design.checkpoint.facts, design.model.facts.shape
    there, here = weights.heaviest(facts, theirs, shape), weights.heaviest(facts, ours, shape)
    return theirs != ours if there is None or here is None else there < here


def _block_in_a_step(design: Design, sized: Sized) -> Iterator[Finding]:
    for group in design.groups:
        _, cache = sized[group.name]
        if _keeps_blocks(group, sized) and cache.block_tokens > group.batched_tokens:
            yield Finding(
                "flags.max-num-batched-tokens",
                group.batched_tokens,
                f"tokens of a step are fewer than the {cache.block_tokens} of a cache block, and "
                "prefix caching "
                f"keeps the state at the end of whole blocks{_of(design, group)}",
                f"write max-num-batched-tokens: {_least_step(design, sized)} or more, or "
                "enable-prefix-caching: false",
            )


def _least_step(design: Design, sized: Sized) -> int:
    """Return the least tokens of a step that all engines can do with: what is set by hand holds for each."""
    blocks = (sized[each.name][1].block_tokens for each in design.groups if _keeps_blocks(each, sized))
    return max(*(each.max_num_seqs or 1 for each in design.groups), 1, *blocks)


def _keeps_blocks(group: GroupDesign, sized: Sized) -> bool:
    return group.prefix_caching and sized[group.name][1].state_blocks > 0


def _states_for_requests(design: Design, sized: Sized) -> Iterator[Finding]:
    for group in design.groups:
        if _too_many_states(design, group, sized):
            most = sized[group.name][1].blocks.high
            yield Finding(
                "flags.max-num-seqs",
                group.max_num_seqs,
                f"requests at once are more than the {most} blocks that fit, and the state of each takes one"
                f"{_of(design, group)}",
                f"write {most} or less",
            )


def _too_many_states(design: Design, group: GroupDesign, sized: Sized) -> bool:
    """Return whether there are more requests at once by hand than states that fit."""
    memory, cache = sized[group.name]
    return (
        isinstance(design.config.flags.get("max-num-seqs"), int)
        and memory.weighed
        and fits(design, memory, cache)
        and cache.state_blocks > 0
        and (group.max_num_seqs or 0) > cache.blocks.high
    )


def _steps_serve_the_requests(design: Design, sized: Sized) -> Iterator[Finding]:
    for group in design.groups:
        seqs, tokens = group.max_num_seqs or 1, group.batched_tokens
        if tokens >= seqs or _too_many_states(design, group, sized):
            continue
        if "max-num-seqs" in design.config.flags and "max-num-batched-tokens" not in design.config.flags:
            yield Finding(
                "flags.max-num-seqs",
                seqs,
                f"requests at once are more than the {tokens} tokens of a step, and each takes one"
                f"{_of(design, group)}",
                f"write {tokens} or less, or max-num-batched-tokens: {_least_step(design, sized)} or more",
            )
        else:
            yield Finding(
                "flags.max-num-batched-tokens",
                tokens,
                f"tokens of a step are fewer than {seqs} requests at once, each of which takes one"
                f"{_of(design, group)}",
                f"write {_least_step(design, sized)} or more, or fewer requests",
            )


def _sizes_are_positive(design: Design, _: Sized) -> Iterator[Finding]:
    for name in _SIZES:
        value = design.config.flags.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            yield Finding(
                f"flags.{name}",
                spelled(value),
                "is no size",
                "write a whole number of 1 or more, or leave it out",
            )


def _share_of_memory(design: Design, _: Sized) -> Iterator[Finding]:
    share = design.config.flags.get("gpu-memory-utilization")
    # What is not a number compares with nothing, and is refused too.
    if isinstance(share, int | float) and not isinstance(share, bool) and not 0 < share <= 1:
        yield Finding(
            "flags.gpu-memory-utilization",
            share,
            "is no share of a GPU's memory",
            "write more than 0 and at most 1, for example 0.9",
        )


RULES = (
    Rule(
        "weights-and-a-request-fit",
        "the weights and one request of the longest context fit each GPU",
        "sizes of stacks/catalog; vLLM 0.33.0, fused_moe/config.py and v1/core/kv_cache_utils.py",
        _weights_and_a_request_fit,
    ),
    Rule(
        "block-in-a-step",
        "with prefix caching, a block of a hybrid cache is at most --max-num-batched-tokens",
        "https://github.com/vllm-project/vllm/issues/49141",
        _block_in_a_step,
    ),
    Rule(
        "states-for-requests",
        "--max-num-seqs is at most the blocks of recurrent state",
        "vLLM 0.33.0, vllm/config/compilation.py; https://github.com/vllm-project/vllm/pull/38632",
        _states_for_requests,
    ),
    Rule(
        "steps-serve-the-requests",
        "--max-num-batched-tokens is at least --max-num-seqs",
        "vLLM 0.33.0, vllm/config/scheduler.py",
        _steps_serve_the_requests,
    ),
    Rule(
        "sizes-are-positive",
        "sizes set by hand are whole numbers of 1 or more",
        "vLLM 0.33.0, vllm/config/scheduler.py, cache.py and compilation.py",
        _sizes_are_positive,
    ),
    Rule(
        "share-of-memory",
        "--gpu-memory-utilization is more than 0 and at most 1",
        "vLLM 0.33.0, vllm/config/cache.py",
        _share_of_memory,
    ),
)

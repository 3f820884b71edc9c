"""What is left for the cache, and how many requests that holds."""

from collections.abc import Iterable

from stacks.planning.design import GroupDesign
from stacks.planning.memory.layout import CacheLayout
from stacks.planning.sized import Cache, Part, Range, Requests

_SHORT = (32_768, 8_192)


def pool(usable: int, parts: Iterable[Part]) -> Range:
    """Return what is left of the usable memory; its low is unknown where the size of a part is."""
    sizes = [part.size for part in parts]
    most = usable - sum(size.low or 0 for size in sizes)
    if any(size.low is None for size in sizes):
        return Range(low=None, high=most)
    return Range(low=usable - sum(size.high for size in sizes), high=most)


def cache(group: GroupDesign, left: Range, most: CacheLayout, least: CacheLayout, context: int) -> Cache:
    """Return the cache of an engine.

    Args:
        group: The engine.
        left: Bytes that the cache has.
        most: The layout in which a request takes the most blocks.
        least: The layout in which it takes the fewest; blocks are as large in both.
        context: Tokens of the longest request.
    """
    number = blocks(left, most.block_bytes)
    return Cache(
        kv_cache=group.kv_cache,
        state=group.state,
        prefix_caching=group.prefix_caching,
        block_tokens=most.block_tokens,
        page=most.page,
        state_bytes=most.state_bytes,
        group_layers=most.group_layers,
        groups=most.attention_groups + most.state_groups,
        block_bytes=most.block_bytes,
        state_blocks=most.state_blocks,
        blocks=number,
        tokens=tokens(number, Range(low=least.blocks(context), high=most.blocks(context)), context),
        requests=tuple(requests(number, most, least, length) for length in lengths(context)),
    )


def blocks(left: Range, block_bytes: int) -> Range:
    """Return the whole blocks in the pool; none where nothing is left."""
    return Range(
        low=None if left.low is None else max(0, left.low // block_bytes),
        high=max(0, left.high // block_bytes),
    )


def concurrency(number: int, of_one: int) -> float:
    """Return how many requests fit at once.

    Source: vLLM 0.33.0, `v1/core/kv_cache_utils.py:get_max_concurrency_for_kv_cache_config`.
    """
    return number / of_one


def tokens(number: Range, of_one: Range, context: int) -> Range:
    """Return the tokens that the pool holds, as the engine logs it."""
    least = None if number.low is None else int(concurrency(number.low, of_one.high) * context)
    return Range(low=least, high=int(concurrency(number.high, of_one.low or of_one.high) * context))


def requests(number: Range, most: CacheLayout, least: CacheLayout, length: int) -> Requests:
    """Return what requests of one length take, and how many fit.

    Args:
        number: Blocks in the pool.
        most: The layout in which a request takes the most blocks.
        least: The layout in which it takes the fewest.
        length: Tokens, prompt and answer.
    """
    of_one = most.blocks(length)
    return Requests(
        tokens=length,
        blocks=of_one,
        size=of_one * most.block_bytes,
        low=None if number.low is None else concurrency(number.low, of_one),
        high=concurrency(number.high, least.blocks(length)),
    )


def lengths(context: int) -> tuple[int, ...]:
    """Return the lengths to tell: the longest, then shorter ones."""
    shorter = {length for length in (context // 4, *_SHORT) if 0 < length < context}
    return (context, *sorted(shorter, reverse=True))

"""What fits on one GPU, and how many requests that holds. Bytes throughout."""

from collections.abc import Mapping

from stacks.values import Value


class Range(Value):
    """Between two whole numbers; equal where the figure is exact.

    Attributes:
        low: Least; None where nothing is known below `high`.
        high: Most.
    """

    low: int | None
    high: int

    @property
    def exact(self) -> bool:
        """Return whether both ends are the same."""
        return self.low == self.high


class Part(Value):
    """What one GPU holds beside the cache.

    Attributes:
        name: weights, draft, activations, CUDA graphs, NCCL …
        size: Bytes; where nobody knows them `low` is None, and `high` is what is counted (0).
        why: How it is known, one clause.
        source: Where it stands; `assumption` where nobody documents it.
        at_least: Whether more comes on top that nobody documents the size of.
    """

    name: str
    size: Range
    why: str
    source: str
    at_least: bool = False


class GpuMemory(Value):
    """The memory of the fullest GPU of one engine (of one host in the lab).

    Attributes:
        capacity: Nominal memory.
        usable: What the engine takes of it (`--gpu-memory-utilization`).
        parts: What it holds beside the cache.
        pool: What is left for the cache; `high` below 1 where nothing fits, or where that is unknown.
    """

    capacity: int
    usable: int
    parts: tuple[Part, ...]
    pool: Range

    @property
    def weighed(self) -> bool:
        """Return whether the size of the weights is known; without it nothing is known of the pool."""
        return all(part.size.low is not None for part in self.parts if part.name == "weights")

    @property
    def needed(self) -> int:
        """Return the most that everything takes together, the cache's pool included."""
        return sum(part.size.high for part in self.parts) + max(self.pool.low or 0, 0)


class Requests(Value):
    """What requests of one length take.

    Attributes:
        tokens: Length of each, prompt and answer.
        blocks: Cache blocks of one.
        size: Bytes of one on each GPU.
        low: How many fit at once at least; None where that is unknown.
        high: How many fit at most.
    """

    tokens: int
    blocks: int
    size: int
    low: float | None
    high: float


class Cache(Value):
    """How the engine lays its hybrid cache out (facts of vLLM 0.33: v1/core/kv_cache_planning.py).

    Attributes:
        kv_cache: Number format of keys and values (bf16, fp8).
        state: Number format of the recurrent state; None where the model has none.
        prefix_caching: Whether prefixes are kept.
        block_tokens: Tokens of one block.
        page: Bytes of one block in one layer.
        state_bytes: Bytes of the state of one layer, before it is padded to a page; 0 where there is none.
        group_layers: Layers that share a block of the pool.
        groups: Groups of layers that draw on the pool.
        block_bytes: Bytes of one block in the pool (page x group_layers).
        state_blocks: Blocks of one request that do not grow with its length.
        blocks: Blocks in the pool of one engine rank.
        tokens: Tokens that the pool holds at the longest context, as the engine logs it.
        requests: At the longest context first, then at shorter ones.
        notes: What is not exact, and why.
    """

    kv_cache: str
    state: str | None
    prefix_caching: bool
    block_tokens: int
    page: int
    state_bytes: int
    group_layers: int
    groups: int
    block_bytes: int
    state_blocks: int
    blocks: Range
    tokens: Range
    requests: tuple[Requests, ...]
    notes: tuple[str, ...] = ()


Sized = Mapping[str, tuple[GpuMemory, Cache]]
"""Name of an engine → what one of its GPUs holds, and how its cache is laid out."""

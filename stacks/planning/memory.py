"""How much memory one rank needs."""

from stacks.catalog import Engine, Model
from stacks.config import FleetConfig
from stacks.planning.plan import Memory

_GIB = 2**30


def rank_memory(config: FleetConfig, model: Model, engine: Engine) -> Memory:
    """Return what one rank needs beside the operating system of its host."""
    size = sum(file.size for file in model.checkpoint.files.values())
    return Memory(
        weights=mib(size // config.layout.tensor_parallel),
        kv_cache=kv_cache_gib(config, model) * 1024,
        engine=engine.facts.memory_mib,
    )


def kv_cache_gib(config: FleetConfig, model: Model) -> int:
    """Return the KV cache of one rank in whole GiB, the engine's unit: one longest sequence must fit."""
    return max(1, -(-config.context * kv_bytes_per_token(config, model) // _GIB))


def kv_bytes_per_token(config: FleetConfig, model: Model) -> int:
    """Return the bytes of keys and values that one token takes on one rank."""
    facts = model.facts
    # Heads are split over the ranks; where there are more ranks than heads each rank keeps one.
    heads = max(1, facts.kv_heads // config.layout.tensor_parallel)
    return 2 * facts.layers * heads * facts.head_dim * facts.element_bytes


def mib(size: int) -> int:
    """Return bytes as MiB, rounded up."""
    return -(-size // 2**20)

"""An engine on CPU cores: the cache is given in whole GiB, and everything is the host's own memory."""

from stacks.catalog.figures import Unpinned, address
from stacks.catalog.models import Checkpoint
from stacks.planning.design import Design, GroupDesign
from stacks.planning.memory.layout import CacheInput, layout_of, token_bytes
from stacks.planning.memory.pool import cache
from stacks.planning.memory.reserves import MIB, mib, reserves
from stacks.planning.sized import Cache, GpuMemory, Part, Range

_GIB = 2**30
# `vllm/platforms/cpu.py`, where nobody asks for another size.
_BLOCK = 128


def size(design: Design, group: GroupDesign) -> tuple[GpuMemory, Cache]:
    """Return what one rank needs beside the operating system of its host, and its cache."""
    room = kv_cache_gib(design, group) * _GIB
    left = Range(low=room, high=room)
    memory = GpuMemory(
        capacity=design.memory,
        usable=design.memory,
        parts=(_weights(design, group), *reserves(design)),
        pool=left,
    )
    cut = layout_of(_input(design, group))
    return memory, cache(group, left, cut, cut, design.context)


def kv_cache_gib(design: Design, group: GroupDesign) -> int:
    """Return the KV cache of one rank in whole GiB, the engine's unit: one longest sequence must fit."""
    each = token_bytes(_input(design, group)) * design.model.facts.shape.attention.layers
    return max(1, -(-design.context * each // _GIB))


def _weights(design: Design, group: GroupDesign) -> Part:
    held = mib(_bytes(design.checkpoint) // group.parallel.tensor_parallel) * MIB
    return Part(
        name="weights",
        size=Range(low=held, high=held),
        why=f"the checkpoint's files over {group.parallel.tensor_parallel} tensor parallel ranks",
        source=address(design.model.facts.sources, design.checkpoint.facts.source),
    )


def _bytes(checkpoint: Checkpoint) -> int:
    if not isinstance(checkpoint.manifest, Unpinned):
        return sum(file.size for file in checkpoint.manifest.files.values())
    known = (checkpoint.facts.tensor_bytes, checkpoint.facts.about_bytes)
    return next((size for size in known if isinstance(size, int)), 0)


def _input(design: Design, group: GroupDesign) -> CacheInput:
    shape = design.model.facts.shape
    return CacheInput(
        layers=shape.layers,
        attention=shape.attention,
        kv_cache=group.kv_cache,
        tensor_parallel=group.parallel.tensor_parallel,
        prefix_caching=group.prefix_caching,
        block_tokens=_BLOCK,
    )

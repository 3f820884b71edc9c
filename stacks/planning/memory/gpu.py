"""An engine on GPUs: weights and reserves come first, the cache takes what is left."""

import math
from collections.abc import Iterator

from stacks.catalog.figures import address
from stacks.planning.design import Design, GroupDesign
from stacks.planning.memory.engine import Exports, cache_input
from stacks.planning.memory.layout import layout_of
from stacks.planning.memory.pool import cache, pool
from stacks.planning.memory.reserves import reserves
from stacks.planning.memory.weights import known_bytes, loaded, of_fullest_stage
from stacks.planning.sized import Cache, GpuMemory, Part, Range

_UNKNOWN = Range(low=None, high=0)


def size(design: Design, group: GroupDesign) -> tuple[GpuMemory, Cache]:
    """Return what the fullest GPU of an engine holds, and its cache; each data parallel rank has its own."""
    # The engine rounds up too (vLLM 0.33.0, `v1/worker/utils.py:request_memory`).
    usable = math.ceil(design.memory * group.utilization)
    parts = (_weights(design, group), *_draft(design, group), *reserves(design))
    left = _UNKNOWN if parts[0].size.low is None else pool(usable, parts)
    return GpuMemory(capacity=design.memory, usable=usable, parts=parts, pool=left), _cache(
        design, group, left
    )


def _cache(design: Design, group: GroupDesign, left: Range) -> Cache:
    asked, exported = cache_input(design, group)
    least = layout_of(asked.model_copy(update={"checkpoints": exported.states.low or 0}))
    found = cache(group, left, layout_of(asked), least, design.context)
    return found.model_copy(update={"notes": tuple(_notes(design, group, exported))})


def _weights(design: Design, group: GroupDesign) -> Part:
    facts, parallel = design.checkpoint.facts, group.parallel
    total, routed, how = loaded(facts, head=design.draft is not None and design.draft.repository is None)
    source = address(design.model.facts.sources, facts.source)
    if total is None:
        return Part(name="weights", size=_UNKNOWN, why=how, source=source)
    held = of_fullest_stage(total, routed, parallel, design.model.facts.shape)
    return Part(
        name="weights",
        size=held,
        why=f"{how} over {parallel.gpus} GPUs{_split(design, group)}",
        source=source,
        at_least=parallel.gpus > 1,
    )


def _split(design: Design, group: GroupDesign) -> str:
    parallel, routed = group.parallel, design.checkpoint.facts.routed_bytes
    said = "; what every rank keeps whole (norms, routers) comes on top"
    if parallel.data_parallel > 1 and design.model.facts.shape.experts:
        whole = parallel.tensor_parallel * parallel.pipeline_parallel
        known = "" if isinstance(routed, int) else ", and how much that is is not documented"
        said = f", all but the routed experts over {whole} of them only{known}{said}"
    if parallel.pipeline_parallel > 1:
        said = f", at most the stage with the most layers{said}"
    return said


def _draft(design: Design, group: GroupDesign) -> Iterator[Part]:
    draft = design.draft
    if draft is None or draft.repository is None:
        return
    source = address(design.model.facts.sources, draft.source)
    if not isinstance(draft.tensor_bytes, int):
        yield Part(
            name="draft",
            size=_UNKNOWN,
            why="nobody documents how large it is; nothing is counted",
            source=source,
        )
        return
    split = -(-draft.tensor_bytes // group.parallel.tensor_parallel)
    yield Part(
        name="draft",
        size=Range(low=split, high=draft.tensor_bytes),
        why="split over the tensor parallel ranks, or whole on each of them",
        source=source,
    )


def _notes(design: Design, group: GroupDesign, exported: Exports) -> Iterator[str]:
    draft, shape = design.draft, design.model.facts.shape
    if known_bytes(design.checkpoint.facts)[0] is None:
        yield (
            "the weights are missing here, for nobody documents their size: what is left for the cache is "
            "unknown, and so is how many requests fit"
        )
    if draft and draft.repository and not isinstance(draft.tensor_bytes, int):
        yield "the size of the draft is not documented and not counted: all that fits is an upper bound"
    if draft and (not draft.shares_groups or not isinstance(draft.attention_layers, int)):
        yield "the draft's own cache is not counted: how many layers it has is not documented"
    if not exported.states.exact:
        yield (
            "the kernels of the installed AITER decide whether a prefill exports states; the smaller figures "
            "count one more block in each group of recurrent layers for it"
        )
    if shape.attention.kind == "gqa" and shape.recurrent and design.family.vendor == "amd":
        yield "blocks are counted in steps of 16 tokens; an attention kernel of AITER may ask for 64"
    if shape.attention.kind == "mla" and not shape.recurrent:
        yield "blocks are counted as 16 tokens; a kernel for latent attention may ask for 32 or 64"
    if group.parallel.pipeline_parallel > 1:
        yield "a block of the pool is as large as on the stage where it is largest"
    if group.parallel.data_parallel > 1:
        yield f"each of the {group.parallel.data_parallel} data parallel ranks has a cache of its own"

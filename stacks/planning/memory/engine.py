"""What the engine does by itself on these accelerators, as far as it changes the cache.

Read in vLLM 0.33.0, paths below `vllm/`.
"""

from typing import Final

from stacks.config import Setting
from stacks.planning.design import Design, GroupDesign
from stacks.planning.layers import layers, voices, whole
from stacks.planning.memory.layout import CacheInput
from stacks.planning.sized import Range
from stacks.values import Value

# `models/kimi_k3/nvidia/kda.py:resolve_kda_prefill_backend` and
# `model_executor/layers/mamba/gdn/qwen_gdn_linear_attn.py:_resolve_gdn_prefill_backend`, default `auto`.
_WITH_FLASH_KERNELS: Final = {"hopper", "blackwell"}
_EXPORTS: Final = {"kda": {"auto", "flashkda"}, "gdn": {"auto", "flashinfer"}}
# `v1/attention/backends/gdn_attn.py:FLASHINFER_GDN_CHECKPOINT_ALIGNMENT`; KDA layers ask for none.
_ALIGNMENT: Final = {"kda": 1, "gdn": 64}


class Exports(Value):
    """States that a prefill exports inside a prompt, so that a later request can start there.

    Attributes:
        states: How many more blocks a request takes in each group for it.
        alignment: Tokens that a block becomes a multiple of.
    """

    states: Range
    alignment: int


NONE: Final = Exports(states=Range(low=0, high=0), alignment=1)


def cache_input(design: Design, group: GroupDesign) -> tuple[CacheInput, Exports]:
    """Return what decides the layout of the cache, and what of it is not certain."""
    flags, shape, draft = _flags(design, group), design.model.facts.shape, design.draft
    exported = exports(design, group, flags)
    drafts = draft.tokens if draft else 0
    joins = draft.attention_layers if draft and draft.shares_groups else 0
    return CacheInput(
        layers=shape.layers,
        attention=shape.attention,
        recurrent=shape.recurrent,
        kv_cache=group.kv_cache,
        state=group.state,
        tensor_parallel=group.parallel.tensor_parallel,
        pipeline_parallel=group.parallel.pipeline_parallel,
        decode_context_parallel=group.parallel.decode_context_parallel,
        speculative_tokens=drafts,
        # Replaying from one state needs none for each proposed token (`mamba/abstract.py`).
        kept_drafts=0 if flags.get("use-replayssm") is True else drafts,
        draft_layers=joins if isinstance(joins, int) else 0,
        prefix_caching=group.prefix_caching,
        checkpoints=exported.states.high,
        checkpoint_alignment=exported.alignment,
        block_tokens=whole(flags.get("block-size")),
    ), exported


def exports(design: Design, group: GroupDesign, flags: dict[str, Setting]) -> Exports:
    """Return the states that a prefill exports, which depends on the kernel that computes it."""
    recurrent = design.model.facts.shape.recurrent
    if recurrent is None or not group.prefix_caching:
        return NONE
    kernel = flags.get(f"{recurrent.kind}-prefill-backend", "auto")
    if design.family.vendor == "nvidia":
        flash = design.family_name in _WITH_FLASH_KERNELS and kernel in _EXPORTS[recurrent.kind]
        return Exports(states=Range(low=1, high=1), alignment=_ALIGNMENT[recurrent.kind]) if flash else NONE
    if design.family.vendor == "amd" and recurrent.kind == "kda" and kernel in {"auto", "fused"}:
        # `models/kimi_k3/amd/kda.py`: by what the installed AITER brings, gluon (exports none) or fused.
        return Exports(states=Range(low=int(kernel == "fused"), high=1), alignment=1)
    return NONE


def _flags(design: Design, group: GroupDesign) -> dict[str, Setting]:
    return {
        name: each.value
        for _, options in layers(voices(design, group), "flags")
        for name, each in options.items()
    }

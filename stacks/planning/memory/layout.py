"""How the engine cuts the cache of a hybrid model into blocks (vLLM 0.33.0, paths below `vllm/`).

The attention layers keep keys and values that grow with the sequence, the recurrent ones a state of constant
size. Both draw whole blocks from one pool, so one block has to have the same bytes for both.
"""

from math import lcm
from typing import Literal

from stacks.catalog.models import Attention, Recurrent, StateFormat
from stacks.planning.memory.stages import layers_of_stages
from stacks.values import Value

ELEMENT = {"bf16": 2, "fp8": 1, "fp32": 4, "bfloat16": 2, "float16": 2, "float32": 4}
"""Bytes of one element by number format."""

# The short convolution keeps its inputs in the model's own type.
_CONV_ELEMENT = 2
# Tokens; smallest kernel block of FlashInfer and Triton, and what the MLA decode kernels ask for.
_ALIGNMENT = {"gqa": 16, "mla": 128}
# Another group size than the smallest kind of layers is taken where the kinds are about as many.
_ABOUT_AS_MANY = 1.5


class CacheInput(Value):
    """Everything that decides how the cache of one engine rank is cut.

    Attributes:
        layers: Layers of the model, from which the pipeline stages are cut.
        attention: Layers with keys and values.
        recurrent: Layers with a state; None where there are none.
        kv_cache: Number format of keys and values.
        state: Number format of the recurrent state; None where there is none.
        tensor_parallel: Ranks that hold each layer together.
        pipeline_parallel: Stages of layers.
        decode_context_parallel: Ranks that share out keys and values by tokens.
        speculative_tokens: Tokens proposed at a time; 0 without speculation.
        kept_drafts: States kept for proposed tokens; fewer with `--use-replayssm`.
        draft_layers: Layers of the draft that join the attention layers.
        prefix_caching: Whether prefixes are kept (the engine's mode `align`).
        checkpoints: States that a prefill exports beside those (0 or 1).
        checkpoint_alignment: Tokens between such exports; the block becomes a multiple of it.
        block_tokens: `--block-size` where somebody asks for one.
    """

    layers: int
    attention: Attention
    recurrent: Recurrent | None = None
    kv_cache: Literal["bf16", "fp8", "fp32"]
    state: StateFormat | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    decode_context_parallel: int = 1
    speculative_tokens: int = 0
    kept_drafts: int = 0
    draft_layers: int = 0
    prefix_caching: bool = False
    checkpoints: int = 0
    checkpoint_alignment: int = 1
    block_tokens: int = 0


class CacheLayout(Value):
    """How the cache of one engine rank is cut; bytes on one GPU.

    Attributes:
        state_bytes: State of one layer; 0 where there is none.
        block_tokens: Tokens of one block.
        page: Bytes of one block in one layer.
        attention_groups: Groups of attention layers; each takes blocks as a sequence grows.
        state_groups: Groups of recurrent layers; each takes the same blocks for any length.
        group_layers: Layers that share a block of the pool, on the stage where they are most.
        states: Blocks that one request takes in each group of recurrent layers.
        shared_by: Ranks that share out the tokens of a sequence.
    """

    state_bytes: int
    block_tokens: int
    page: int
    attention_groups: int
    state_groups: int
    group_layers: int
    states: int
    shared_by: int

    @property
    def block_bytes(self) -> int:
        """Return the bytes of one block in the pool."""
        return self.group_layers * self.page

    @property
    def state_blocks(self) -> int:
        """Return the blocks of one request that do not grow with its length."""
        return self.state_groups * self.states

    def blocks(self, tokens: int) -> int:
        """Return the blocks of a request of this length, prompt and answer."""
        growing = -(-tokens // (self.block_tokens * self.shared_by))
        return self.attention_groups * growing + self.state_blocks


def layout_of(asked: CacheInput) -> CacheLayout:
    """Return how the engine cuts the cache.

    Source: `platforms/interface.py:_align_hybrid_block_size`, `v1/core/kv_cache_planning.py`.
    """
    each, state = token_bytes(asked), state_bytes(asked)
    block = block_tokens(asked, each, state)
    attention, recurrent = groups(
        asked.attention.layers + asked.draft_layers, asked.recurrent.layers if asked.recurrent else 0
    )
    return CacheLayout(
        state_bytes=state,
        block_tokens=block,
        page=block * each,
        attention_groups=attention,
        state_groups=recurrent,
        group_layers=_most_layers(asked, attention, recurrent),
        states=states(asked) if recurrent else 0,
        shared_by=asked.decode_context_parallel,
    )


def token_bytes(asked: CacheInput) -> int:
    """Return the bytes of keys and values of one token in one layer on one rank.

    Source: `v1/kv_cache_interface.py`, AttentionSpec and MLAAttentionSpec.
    """
    attention, element = asked.attention, ELEMENT[asked.kv_cache]
    if attention.kind == "mla":
        # One latent instead of keys and values, and every tensor parallel rank keeps all of it.
        return attention.width * element
    # Heads are split over the ranks; where there are more ranks than heads each rank keeps one.
    heads = max(1, attention.kv_heads // asked.tensor_parallel)
    return 2 * heads * attention.width * element


def state_bytes(asked: CacheInput) -> int:
    """Return the bytes of the state of one layer on one rank: short convolution and recurrent state.

    Source: `model_executor/layers/mamba/mamba_utils.py`, kda_state_shape and gated_delta_net_state_shape.
    """
    layer = asked.recurrent
    if layer is None:
        return 0
    channels = 2 * layer.key_heads * layer.key_dim + layer.value_heads * layer.value_dim
    taps = layer.conv_kernel - 1 + asked.speculative_tokens
    heads = layer.value_heads // asked.tensor_parallel
    return (
        channels // asked.tensor_parallel * taps * _CONV_ELEMENT
        + heads * layer.value_dim * layer.key_dim * ELEMENT[asked.state or layer.state]
    )


def block_tokens(asked: CacheInput, each: int, state: int) -> int:
    """Return the tokens of one block: as few as hold one state, in steps that the kernels can take."""
    step = max(_ALIGNMENT[asked.attention.kind] if state else 16, asked.block_tokens)
    if not state:
        return step
    if asked.prefix_caching:
        step = lcm(step, asked.checkpoint_alignment)
    return step * -(-state // (step * each))


def groups(attention: int, recurrent: int) -> tuple[int, int]:
    """Return the groups of attention layers and of recurrent layers.

    Source: `v1/core/kv_cache_planning.py:_get_kv_cache_groups_uniform_page_size`.
    """
    if not recurrent:
        return 1, 0
    few, many = sorted((attention, recurrent))
    size = many if many < few * _ABOUT_AS_MANY else few
    return -(-attention // size), -(-recurrent // size)


def states(asked: CacheInput) -> int:
    """Return the blocks that a request takes in one group of recurrent layers.

    Source: `v1/kv_cache_interface.py:MambaSpec.max_memory_usage_bytes`.
    """
    if asked.prefix_caching:
        return 2 + asked.kept_drafts + asked.checkpoints
    return 1 + asked.kept_drafts


def _most_layers(asked: CacheInput, attention: int, recurrent: int) -> int:
    """Return the layers of the largest group on the stage where it is largest.

    The engine groups the layers of the whole model, every n-th into one of n groups, and then gives each
    stage what it holds of them (`v1/core/kv_cache_planning.py:_project_kv_cache_groups_to_worker`).
    """
    stages = layers_of_stages(asked.layers, asked.attention.layers, asked.pipeline_parallel)
    growing = [stage.attention for stage in stages]
    growing[-1] += asked.draft_layers
    constant = [stage.recurrent for stage in stages] if recurrent else [0]
    return max(_most(growing, attention), _most(constant, recurrent or 1))


def _most(counts: list[int], number: int) -> int:
    # Of layers that follow each other, the fullest of `number` groups holds the share, rounded up.
    return max(-(-count // number) for count in counts)

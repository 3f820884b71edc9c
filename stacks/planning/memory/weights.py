"""What one GPU holds of the weights."""

from collections.abc import Iterable

from stacks.catalog.models import CheckpointFacts, Shape
from stacks.config import Parallelism
from stacks.planning.memory.stages import sizes_of_stages
from stacks.planning.sized import Range

_BF16 = 2
# Embedding and output head, of which a stage holds at most both.
_TABLES = 2


def weights_of_a_gpu(total: int, routed: int | None, parallel: Parallelism) -> Range:
    """Return the bytes that a GPU holds at least, where all pipeline stages are alike.

    Routed experts are split over all ranks, whether whole or in slices, everything else over tensor and
    pipeline parallel ranks alone (vLLM 0.33.0, `fused_moe/config.py:flatten_tp_across_dp_and_pcp`).

    Args:
        total: Bytes of all tensors.
        routed: Bytes of the routed experts; None where unknown.
        parallel: The split.
    """
    ranks, whole = parallel.gpus, parallel.tensor_parallel * parallel.pipeline_parallel
    if parallel.data_parallel == 1:
        return Range(low=_split(total, whole), high=_split(total, whole))
    if routed is None:
        return Range(low=_split(total, ranks), high=_split(total, whole))
    exact = _split(routed, ranks) + _split(total - routed, whole)
    return Range(low=exact, high=exact)


def of_fullest_stage(total: int, routed: int | None, parallel: Parallelism, shape: Shape) -> Range:
    """Return the bytes of a GPU between the mean of all stages and the stage with the most layers.

    Nobody says which tensors lie outside the layers, so the fullest stage is counted with its share of all
    bytes and embedding and output head on top.
    """
    mean = weights_of_a_gpu(total, routed, parallel)
    stages = parallel.pipeline_parallel
    if stages == 1:
        return mean
    most = max(sizes_of_stages(shape.layers, stages))
    tables = _split(_TABLES * shape.vocabulary * shape.hidden * _BF16, parallel.tensor_parallel)
    return Range(low=mean.low, high=_split(mean.high * stages * most, shape.layers) + tables)


def heaviest(checkpoint: CheckpointFacts, parts: Iterable[Parallelism], shape: Shape) -> int | None:
    """Return what the fullest GPU of some engines holds at least; None where nobody knows the bytes."""
    total, _ = known_bytes(checkpoint)
    if total is None:
        return None
    routed = _routed(checkpoint)
    return max(of_fullest_stage(total, routed, each, shape).low or 0 for each in parts)


def loaded(checkpoint: CheckpointFacts, *, head: bool) -> tuple[int | None, int | None, str]:
    """Return the bytes of all tensors that are loaded, of the routed experts among them, and their source.

    Args:
        checkpoint: The checkpoint.
        head: Whether its prediction head is used; else its experts stay in the files, and the rest of it is
            counted all the same.
    """
    total, how = known_bytes(checkpoint)
    routed = _routed(checkpoint)
    if head or checkpoint.head_bytes == 0:
        return total, routed, how
    if total is None or not isinstance(checkpoint.head_bytes, int):
        return total, routed, f"{how}, those of the prediction head among them, which is not loaded,"
    left = checkpoint.head_bytes
    how += (
        f" less {left:,} of the prediction head's experts, which are not loaded without speculation (the rest"
        " of the head is not either, and is counted for want of its size),"
    )
    return total - left, routed - left if routed is not None else None, how


def known_bytes(checkpoint: CheckpointFacts) -> tuple[int | None, str]:
    """Return the bytes of all tensors, and how they are known."""
    if isinstance(checkpoint.tensor_bytes, int):
        return checkpoint.tensor_bytes, f"{checkpoint.tensor_bytes:,} bytes of tensors"
    if checkpoint.about_bytes:
        return checkpoint.about_bytes, f"about {checkpoint.about_bytes:,} bytes, as its source rounds them"
    return None, "nobody documents how many bytes its tensors have"


def _routed(checkpoint: CheckpointFacts) -> int | None:
    return checkpoint.routed_bytes if isinstance(checkpoint.routed_bytes, int) else None


def _split(size: int, ranks: int) -> int:
    return -(-size // ranks)

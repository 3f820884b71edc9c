"""Which layers a pipeline stage holds."""

from stacks.values import Value


class Stage(Value):
    """How many layers of each kind a stage holds."""

    attention: int
    recurrent: int

    @property
    def layers(self) -> int:
        """Return all of its layers."""
        return self.attention + self.recurrent


def layers_of_stages(layers: int, attention: int, stages: int) -> tuple[Stage, ...]:
    """Return what each pipeline stage holds."""
    kinds, found, first = _kinds(layers, attention), [], 0
    for size in sizes_of_stages(layers, stages):
        mine = kinds[first : first + size]
        found.append(Stage(attention=sum(mine), recurrent=size - sum(mine)))
        first += size
    return tuple(found)


def sizes_of_stages(layers: int, stages: int) -> list[int]:
    """Return how many layers each stage gets.

    What is left over goes to the stages before the last, the last of those first
    (vLLM 0.33.0, `vllm/distributed/utils.py:get_pp_indices`).
    """
    sizes = [layers // stages] * stages
    for step in range(layers % stages):
        sizes[-2 - step] += 1
    return sizes


def _kinds(layers: int, attention: int) -> list[bool]:
    """Return for each layer whether it is an attention layer.

    Hybrid models close every period of layers with one, and what is left over with the last (Kimi-K3: 3,
    7 … 91 and 92 of 0 to 92; Qwen3.8: 3, 7 … 91 of 0 to 91).
    """
    period = -(-layers // attention)
    kinds = [(index + 1) % period == 0 for index in range(layers)]
    for index in reversed(range(layers)):
        if sum(kinds) >= attention:
            break
        kinds[index] = True
    return kinds

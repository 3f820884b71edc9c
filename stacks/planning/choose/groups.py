"""The engines of a fleet and the sizes that they run with."""

from typing import Literal, TypeVar, cast

from stacks.config import Disaggregated, Layout, Parallelism
from stacks.planning.choose.layout import Split
from stacks.planning.choose.site import Site
from stacks.planning.design import GroupDesign
from stacks.planning.layers import Voices, asked
from stacks.planning.reasons import Choice

GroupName = Literal["serve", "prefill", "decode"]
T = TypeVar("T")


def groups(
    everybody: Voices, where: Site, split: Split
) -> tuple[tuple[GroupDesign, ...], tuple[Choice, ...]]:
    """Return the engines, and why they run with these sizes.

    Args:
        everybody: Who has a say, before it is known which engine they talk of.
        where: The machines.
        split: The layout.
    """
    apart = isinstance(split.layout, Disaggregated)
    found, choices = [], []
    for name, parallel in _parts(split.layout):
        machines = -(-parallel.gpus // where.machine.gpus)
        crosses = where.fabric if machines > 1 else None
        joins = where.fabric if parallel.tensor_parallel > where.machine.gpus else None
        voices = everybody.model_copy(update={"group": name, "crosses": crosses, "joins": joins})
        sizes = _Sizes(voices, f" of {name}" if apart else "")
        found.append(_group(name, parallel, machines, sizes))
        choices += sizes.choices
    return tuple(found), tuple(choices)


def _parts(layout: Layout) -> tuple[tuple[GroupName, Parallelism], ...]:
    if isinstance(layout, Disaggregated):
        return ("prefill", layout.prefill), ("decode", layout.decode)
    return (("serve", layout),)


class _Sizes:
    """Reads sizes from whoever has the last word on them, and keeps the reasons."""

    def __init__(self, voices: Voices, suffix: str) -> None:
        self.voices, self._suffix = voices, suffix
        self.choices: list[Choice] = []

    def take(self, option: str, otherwise: T, why: str, source: str) -> T:
        """Return what is asked for an option, or else a value with its reason."""
        said = asked(self.voices, option)
        value, cost = otherwise, None
        for origin, reasoned in said:
            if origin == "hand" and reasoned.value != value:
                cost = f"the planner would have taken {_shown(value)}"
            value = cast("T", reasoned.value)  # names.wrong_types has looked at what is set by hand
            why, source = reasoned.why, reasoned.source
        choice = Choice(what=option + self._suffix, value=_shown(value), why=why, source=source, cost=cost)
        self.choices.append(choice)
        return value


def _group(name: GroupName, parallel: Parallelism, machines: int, sizes: _Sizes) -> GroupDesign:
    engine = sizes.voices.engine.facts
    default = engine.sources.get(engine.source, engine.source)
    return GroupDesign(
        name=name,
        parallel=parallel,
        machines=machines,
        max_num_seqs=_requests(parallel, sizes),
        batched_tokens=sizes.take(
            "max-num-batched-tokens", engine.batched_tokens, "the engine's default", default
        ),
        utilization=_share(sizes, default),
        kv_cache=_kv_cache(sizes),
        state=_state(sizes),
        prefix_caching=sizes.take(
            "enable-prefix-caching",
            otherwise=True,
            why="prompts that begin alike are computed once; each request then holds more blocks of state",
            source=default,
        ),
    )


def _requests(parallel: Parallelism, sizes: _Sizes) -> int:
    concurrency, ranks = sizes.voices.config.workload.concurrency, parallel.data_parallel
    each = f", shared out over {ranks} data parallel ranks" if ranks > 1 else ""
    why = f"{concurrency} requests in flight at once{each}"
    return sizes.take("max-num-seqs", -(-concurrency // ranks), why, "workload.concurrency")


def _share(sizes: _Sizes, default: str) -> float:
    profile, engine = sizes.voices.profile, sizes.voices.engine.facts
    if profile and profile.utilization:
        why, source = "the model's profile on these accelerators", sizes.voices.address(profile.source)
        return float(sizes.take("gpu-memory-utilization", profile.utilization, why, source))
    return float(sizes.take("gpu-memory-utilization", engine.utilization, "the engine's default", default))


def _kv_cache(sizes: _Sizes) -> Literal["bf16", "fp8"]:
    profile = sizes.voices.profile
    if profile and profile.kv_cache:
        why, source = "the model's profile on these accelerators", sizes.voices.address(profile.source)
        kind = sizes.take("kv-cache-dtype", str(profile.kv_cache), why, source)
    else:
        kind = sizes.take("kv-cache-dtype", "auto", "the model's own format", "engine default")
    return "fp8" if kind.startswith("fp8") else "bf16"


def _state(sizes: _Sizes) -> Literal["float32", "bfloat16"] | None:
    shape = sizes.voices.model.shape
    if shape.recurrent is None:
        return None
    why, source = "the model's own configuration", sizes.voices.address(shape.source)
    kind = sizes.take("mamba-ssm-cache-dtype", str(shape.recurrent.state), why, source)
    return "bfloat16" if kind == "bfloat16" else "float32"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)

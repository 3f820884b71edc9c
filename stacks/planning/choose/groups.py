"""The engines of a fleet and the sizes that they run with."""

from typing import Literal, TypeVar, cast

from stacks.catalog.figures import address
from stacks.catalog.models import StateFormat
from stacks.config import Disaggregated, Layout, Parallelism
from stacks.planning.choose.layout import Split
from stacks.planning.choose.site import Site
from stacks.planning.design import GroupDesign
from stacks.planning.layers import Voices, asked
from stacks.planning.naming import of_engine
from stacks.planning.reasons import Choice

_PREFIXES = "prompts that begin alike are computed once"
_STATES = "; each request then holds more blocks of state"

GroupName = Literal["serve", "prefill", "decode"]
T = TypeVar("T")
_PROFILE = "the model's profile on these accelerators"


def groups(
    everybody: Voices, where: Site, split: Split
) -> tuple[tuple[GroupDesign, ...], tuple[Choice, ...]]:
    """Return the engines, and why they run with these sizes.

    Args:
        everybody: Who has a say, before it is known which engine they talk of.
        where: The machines.
        split: The layout.
    """
    found, choices = [], []
    for name, parallel in _parts(split.layout):
        machines = -(-parallel.gpus // where.machine.gpus)
        crosses = where.fabric if machines > 1 else None
        joins = where.fabric if parallel.tensor_parallel > where.machine.gpus else None
        voices = everybody.model_copy(update={"group": name, "crosses": crosses, "joins": joins})
        sizes = _Sizes(voices, of_engine(name))
        found.append(_group(name, parallel, machines, sizes, where.machine.accelerator))
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
        value = otherwise
        for _, reasoned in asked(self.voices, option):
            value = cast("T", reasoned.value)  # names.wrong_types has looked at what is set by hand
            why, source = reasoned.why, reasoned.source
        choice = Choice(what=option + self._suffix, value=_shown(value), why=why, source=source)
        self.choices.append(choice)
        return value


def _group(
    name: GroupName, parallel: Parallelism, machines: int, sizes: _Sizes, accelerator: str
) -> GroupDesign:
    engine = sizes.voices.engine.facts
    default = address(engine.sources, engine.source)
    return GroupDesign(
        name=name,
        parallel=parallel,
        machines=machines,
        max_num_seqs=_requests(parallel, sizes),
        batched_tokens=sizes.take(
            "max-num-batched-tokens",
            engine.default_step(accelerator),
            "the engine's default on these accelerators",
            default,
        ),
        utilization=_share(sizes, default),
        kv_cache=_kv_cache(sizes),
        state=_state(sizes),
        prefix_caching=sizes.take(
            "enable-prefix-caching",
            otherwise=True,
            why=_PREFIXES + (_STATES if sizes.voices.model.shape.recurrent else ""),
            source=default,
        ),
    )


def _requests(parallel: Parallelism, sizes: _Sizes) -> int:
    concurrency, ranks = sizes.voices.config.workload.concurrency, parallel.data_parallel
    each = f", shared out over {ranks} data parallel ranks" if ranks > 1 else ""
    why = f"{concurrency} requests in flight at once{each}"
    return sizes.take("max-num-seqs", -(-concurrency // ranks), why, "workload.concurrency")


def _share(sizes: _Sizes, default: str) -> float:
    """Return the share of memory; what is none is sized by the engine's, and refused by `share-of-memory`."""
    engine = sizes.voices.engine.facts
    share = _asked_share(sizes, default)
    return float(share) if 0 < share <= 1 else engine.utilization


def _asked_share(sizes: _Sizes, default: str) -> float:
    profile, engine = sizes.voices.profile, sizes.voices.engine.facts
    if profile and profile.utilization:
        why, source = _PROFILE, address(sizes.voices.model.sources, profile.source)
        return sizes.take("gpu-memory-utilization", profile.utilization, why, source)
    return sizes.take("gpu-memory-utilization", engine.utilization, "the engine's default", default)


def _kv_cache(sizes: _Sizes) -> Literal["bf16", "fp8"]:
    profile = sizes.voices.profile
    if profile and profile.kv_cache:
        why, source = _PROFILE, address(sizes.voices.model.sources, profile.source)
        kind = sizes.take("kv-cache-dtype", str(profile.kv_cache), why, source)
    else:
        kind = sizes.take("kv-cache-dtype", "auto", "the model's own format", "engine default")
    return "fp8" if kind.startswith("fp8") else "bf16"


def _state(sizes: _Sizes) -> StateFormat | None:
    shape = sizes.voices.model.shape
    if shape.recurrent is None:
        return None
    why, source = "the model's own configuration", address(sizes.voices.model.sources, shape.source)
    kind = sizes.take("mamba-ssm-cache-dtype", str(shape.recurrent.state), why, source)
    return next((each for each in shape.recurrent.state_choices if each == kind), shape.recurrent.state)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)

"""Options set by hand that do not go with the fleet: with its layout, its checkpoint, its GPUs, its sizes."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from stacks.catalog.figures import Reasoned
from stacks.config import Setting
from stacks.planning.design import Design, GroupDesign
from stacks.planning.layers import KINDS, Kind
from stacks.planning.naming import spelled
from stacks.planning.options import documented, merged
from stacks.planning.rules.effective import effective, setting
from stacks.planning.rules.rule import Finding, Rule, called
from stacks.planning.sized import Sized


class Unfit(NamedTuple):
    """Values of an option that do not go with some fleets.

    Attributes:
        name: The option.
        where: Whether a value does not go with an engine of a fleet.
        rule: What is wrong with it, so that value and rule read as one clause.
        way_out: What to write instead.
    """

    name: str
    where: Callable[[Design, GroupDesign, Setting], bool]
    rule: str
    way_out: str = "leave it out"


def _always(_: Design, __: GroupDesign, ___: Setting) -> bool:
    return True


def _on(_: Design, __: GroupDesign, value: Setting) -> bool:
    return bool(value)


def _other_than(*fitting: str) -> Callable[[Design, GroupDesign, Setting], bool]:
    return lambda _, __, value: value not in fitting


def _headless(design: Design, group: GroupDesign, _: Setting) -> bool:
    """Return whether an engine has ranks that serve no API."""
    balanced = setting(effective(design, group, "flags"), "data-parallel-hybrid-lb") is True
    return group.machines > 1 and not balanced


def _begins(*kernels: str) -> Callable[[Design, GroupDesign, Setting], bool]:
    """Return whether a kernel is named that the vendor of the GPUs does not have."""
    return lambda design, _, value: (
        design.family.vendor == "amd" and str(value).lower().replace("-", "_").startswith(kernels)
    )


_MEMORY = "changes memory in a way that the plan does not reckon with, so its sizes would not hold"
_SHARE = "leave it out; gpu-memory-utilization and the layout decide what fits"
_RECKONED = tuple(
    Unfit(name, _on, _MEMORY, _SHARE)
    for name in (
        "cpu-offload-gb",
        "enable-lora",
        "kv-cache-dtype-skip-layers",
        "kv-cache-memory-bytes",
        "kv-offloading-size",
        "mamba-block-size",
        "mamba-cache-dtype",
        "mamba-cache-mode",
        "num-gpu-blocks-override",
        "offload-group-size",
    )
)

_HYBRID = Unfit(
    "disable-hybrid-kv-cache-manager",
    lambda design, _, value: (
        value is not False and design.model.facts.shape.recurrent is not None and len(design.groups) == 1
    ),
    "turns off what lays out a cache of keys, values and recurrent states",
)

_STARTS = "every machine's ranks are started by a service of their own"
_PLACED = (
    Unfit(
        "api-server-count",
        _headless,
        "does not go with ranks that have no API, which the engine refuses beside it",
    ),
    Unfit("data-parallel-backend", _other_than("mp"), f"does not start ranks as the plan does: {_STARTS}"),
    Unfit(
        "distributed-executor-backend",
        _other_than("mp"),
        f"does not start ranks as the plan does: {_STARTS}",
    ),
    Unfit(
        "data-parallel-external-lb", _on, "wants a start for each data parallel rank, which the plan has not"
    ),
    Unfit(
        "data-parallel-multi-port-external-lb",
        _on,
        "wants a start for each data parallel rank, which the plan has not",
    ),
    Unfit(
        "data-parallel-hybrid-lb",
        lambda _, group, value: (
            value is not False
            and (group.parallel.data_parallel == 1 or group.parallel.data_parallel % group.machines > 0)
        ),
        "shares requests out between data parallel ranks of each machine, and the layout has none",
    ),
    Unfit(
        "prefill-context-parallel-size",
        lambda _, __, value: value != 1,
        "takes more ranks than the layout has, and no layout here splits prompts",
    ),
    Unfit("enable-elastic-ep", _on, f"adds and drops ranks at run time: {_STARTS}"),
    Unfit("tokens-only", _on, "serves no chat, and readiness is a completion with words"),
    Unfit("grpc", _on, "serves another protocol than the endpoint of the plan"),
    Unfit("ssl-certfile", _always, "serves https, and the plan's readiness and clients speak http"),
    Unfit("ssl-keyfile", _always, "serves https, and the plan's readiness and clients speak http"),
    Unfit("device-ids", _always, "moves ranks to other GPUs than the plan gives them"),
)

_LOADED = (
    Unfit(
        "load-format",
        lambda _, __, value: value == "dummy",
        "fills the weights with noise, and answers would be noise",
        "leave it out",
    ),
    Unfit(
        "quantization",
        _always,
        "names a number format, which the checkpoint itself says",
        "leave it out, or write checkpoint: with one of that format",
    ),
    Unfit(
        "dtype",
        lambda _, __, value: value not in {"auto", "bfloat16"},
        "is another number format than the one that the plan reckons with",
    ),
    Unfit("tokenizer", _always, "takes another tokenizer than the checkpoint's own"),
    Unfit("hf-config-path", _always, "takes another configuration than the checkpoint's own"),
    Unfit("code-revision", _always, "takes other code than the verified copy of the checkpoint has"),
    Unfit("tokenizer-revision", _always, "takes another tokenizer than the checkpoint's own"),
)

_KERNELS = (
    Unfit(
        "attention-backend",
        _begins("flashinfer", "flashmla", "cutlass", "tokenspeed"),
        "is a kernel for CUDA only",
    ),
    Unfit(
        "linear-backend", _begins("flashinfer", "cutlass", "b12x", "deep_gemm"), "is a kernel for CUDA only"
    ),
    Unfit(
        "linear-backend",
        lambda design, _, value: (
            str(value).replace("-", "_") == "flashinfer_cutedsl" and design.checkpoint.facts.format != "nvfp4"
        ),
        "is a kernel for NVFP4, which the checkpoint is not",
    ),
    Unfit(
        "moe-backend", _begins("flashinfer", "cutlass", "deep_gemm", "marlin"), "is a kernel for CUDA only"
    ),
    Unfit(
        "attention-backend",
        lambda design, _, value: design.family.vendor == "nvidia" and str(value).upper().startswith("ROCM"),
        "is a kernel for ROCm only",
    ),
)


def _unfit(table: tuple[Unfit, ...]) -> Callable[[Design, Sized], Iterator[Finding]]:
    """Return the check of a table; the lab's one engine is told once, and everything by its first engine."""

    def check(design: Design, _: Sized) -> Iterator[Finding]:
        for each in table:
            value = design.config.flags.get(each.name)
            if value is not None and any(each.where(design, group, value) for group in design.groups):
                yield Finding(f"flags.{each.name}", spelled(value), each.rule, each.way_out)

    return check


def _fixed_stays(design: Design, _: Sized) -> Iterator[Finding]:
    """Compare what is set by hand with what the catalog fixes; of a mapping, with the fixed keys alone."""
    for group in design.groups:
        for kind in KINDS:
            by_hand: Mapping[str, Setting] = getattr(design.config, kind)
            for name, fixed in _fixed(design, group, kind).items():
                if name in by_hand and not _keeps(fixed, by_hand[name]):
                    yield Finding(
                        f"{kind}.{name}",
                        spelled(by_hand[name]),
                        f"is not what {called(design)} needs here, {spelled(_needed(fixed))}: {fixed.why}",
                        "leave it out",
                        fixed.source,
                    )


def _fixed(design: Design, group: GroupDesign, kind: Kind) -> dict[str, Reasoned]:
    """Return what the hand may not change, as the last voice that fixes it says it."""
    return {
        name: each
        for _, options in documented(design, group, kind)
        for name, each in options.items()
        if each.fixed
    }


def _needed(fixed: Reasoned) -> Setting:
    """Return what is fixed: of a mapping the fixed keys, where not all are."""
    if fixed.fixed_keys and isinstance(fixed.value, dict):
        return {key: value for key, value in fixed.value.items() if key in fixed.fixed_keys}
    return fixed.value


def _keeps(fixed: Reasoned, by_hand: Setting) -> bool:
    needed = _needed(fixed)
    if isinstance(needed, dict) and isinstance(by_hand, dict):
        together = merged(needed, by_hand)
        return merged(together, needed) == together
    return needed == by_hand


_PATIENCE = "VLLM_ENGINE_READY_TIMEOUT_S"


def _waits_for_the_weights(design: Design, _: Sized) -> Iterator[Finding]:
    by_hand = design.config.env.get(_PATIENCE)
    if by_hand is None:
        return
    said = [
        (int(str(options[_PATIENCE].value)), options[_PATIENCE])
        for group in design.groups
        for _, options in documented(design, group, "env")
        if _PATIENCE in options
    ]
    least, reasoned = said[-1] if said else (1, None)
    if not by_hand.isdecimal() or int(by_hand) < least:
        why = f" of {least} or more: {reasoned.why}" if reasoned else ""
        source = reasoned.source if reasoned else None
        yield Finding(
            f"env.{_PATIENCE}",
            spelled(by_hand),
            f"is no number of seconds{why}",
            f'write "{least}" or more, or leave it out',
            source,
        )


_RUNNER = "VLLM_USE_V2_MODEL_RUNNER"


def _runner_serves(design: Design, _: Sized) -> Iterator[Finding]:
    for group in design.groups:
        if setting(effective(design, group, "env"), _RUNNER) != "0":
            continue
        scheduled = setting(effective(design, group, "flags"), "async-scheduling") is not False
        why = None
        if design.draft and design.draft.method == "dspark":
            why = f"the draft {design.draft_name}, which only the second runner has"
        elif group.parallel.pipeline_parallel > 1 and scheduled:
            why = "pipeline stages with asynchronous scheduling, which the first runner refuses"
        if why:
            yield Finding(
                f"env.{_RUNNER}", "0", f"takes the first model runner and goes not with {why}", "drop it"
            )


def _replay_goes(design: Design, _: Sized) -> Iterator[Finding]:
    if design.config.flags.get("use-replayssm") is not True:
        return
    for group in design.groups:
        found = _no_replay(design, group)
        if found:
            yield Finding("flags.use-replayssm", "true", *found)


def _no_replay(design: Design, group: GroupDesign) -> tuple[str, str] | None:
    """Return why states cannot be replayed, and the way out; None where they can."""
    recurrent = design.model.facts.shape.recurrent
    second = setting(effective(design, group, "env"), _RUNNER) != "0"
    if recurrent is None:
        return f"replays recurrent states, and {called(design)} has none", "drop it"
    if design.draft is None:
        first = "without a draft the engine replays states with its first model runner alone"
        return (first, "drop it, or write speculation: with a draft") if second else None
    if recurrent.kind == "kda" and group.parallel.pipeline_parallel > 1:
        return "goes not with pipeline stages, which the engine refuses beside a draft", "drop it"
    if recurrent.kind != "kda" and group.prefix_caching:
        return (
            "goes not with a draft and cached prefixes, which the engine refuses together",
            "drop it, or write enable-prefix-caching: false",
        )
    return None


def _queries_are_quantized(design: Design, _: Sized) -> Iterator[Finding]:
    shape = design.model.facts.shape
    latent = shape.attention.kind == "mla" and shape.recurrent is not None and shape.recurrent.kind == "kda"
    for group in design.groups if latent and design.family.vendor == "nvidia" else ():
        flags = effective(design, group, "flags")
        config = flags.get("attention-config")
        if (
            group.kv_cache == "fp8"
            and setting(flags, "attention-config", "use_prefill_query_quantization") is not True
        ):
            yield Finding(
                "flags.attention-config",
                spelled(config.value if config else None),
                f"leaves queries of a prefill unquantized, which an FP8 cache of {called(design)} asserts",
                "write attention-config: {use_prefill_query_quantization: true}, or kv-cache-dtype: auto",
            )


RULES = (
    Rule(
        "fixed-stays-fixed",
        "what the catalog marks as needed (fixed) is not changed by hand",
        "fixed of stacks/catalog",
        _fixed_stays,
    ),
    Rule(
        "is-reckoned-with",
        "no option set by hand changes memory in a way that the plan does not reckon with",
        "stacks/planning/memory",
        _unfit((*_RECKONED, _HYBRID)),
    ),
    Rule(
        "goes-with-the-ranks",
        "no option set by hand starts, places or fronts ranks otherwise than the plan",
        "vLLM 0.33.0, vllm/entrypoints/cli/serve.py and vllm/engine/arg_utils.py",
        _unfit(_PLACED),
    ),
    Rule(
        "goes-with-the-checkpoint",
        "no option set by hand reads the checkpoint otherwise than it is written",
        "vLLM 0.33.0, vllm/config/model.py and load.py",
        _unfit(_LOADED),
    ),
    Rule(
        "kernels-exist-here",
        "a kernel named by hand is one that the GPUs and the checkpoint have",
        "vLLM 0.33.0, vllm/v1/attention/backends/registry.py and vllm/config/kernel.py",
        _unfit(_KERNELS),
    ),
    Rule(
        "waits-for-the-weights",
        "a start is given up no earlier than the catalog says that the weights need",
        "vLLM 0.33.0, vllm/envs.py",
        _waits_for_the_weights,
    ),
    Rule(
        "runner-serves-the-fleet",
        "the first model runner has neither DSpark nor pipeline stages with asynchronous scheduling",
        "vLLM 0.33.0, vllm/config/vllm.py",
        _runner_serves,
    ),
    Rule(
        "replay-goes-with-the-fleet",
        "states are replayed (--use-replayssm) only where the engine can",
        "vLLM 0.33.0, vllm/config/vllm.py (validate_mamba_cached_kernel)",
        _replay_goes,
    ),
    Rule(
        "fp8-cache-quantizes-queries",
        "with an FP8 cache of Kimi K3 on NVIDIA, queries of a prefill are quantized too",
        "vLLM 0.33.0, vllm/models/kimi_k3/nvidia/mla.py",
        _queries_are_quantized,
    ),
)

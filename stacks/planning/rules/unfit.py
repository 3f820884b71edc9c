"""Values of options set by hand that do not go with the fleet, each as a row of a table."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from stacks.config import Setting
from stacks.planning.design import Design, GroupDesign
from stacks.planning.layers import whole
from stacks.planning.naming import spelled
from stacks.planning.rules.effective import effective, setting
from stacks.planning.rules.rule import Finding, Rule
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


BALANCED = "data-parallel-hybrid-lb"


def _always(_: Design, __: GroupDesign, ___: Setting) -> bool:
    return True


def _on(_: Design, __: GroupDesign, value: Setting) -> bool:
    return bool(value)


def _other_than(*fitting: str) -> Callable[[Design, GroupDesign, Setting], bool]:
    return lambda _, __, value: value not in fitting


def _headless(design: Design, group: GroupDesign, _: Setting) -> bool:
    """Return whether an engine has ranks that serve no API."""
    balanced = setting(effective(design, group, "flags"), BALANCED) is True
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
        "num-gpu-blocks-override",
        "offload-group-size",
    )
)
_EXPERTS = (
    Unfit(
        "enable-eplb",
        lambda _, group, value: value is True and not group.parallel.expert_parallel,
        "balances experts that are spread, and the layout spreads none",
    ),
    Unfit(
        "enable-eplb",
        lambda _, group, value: value is True and group.parallel.expert_parallel,
        _MEMORY,
        "leave it out",
    ),
    Unfit(
        "eplb-config",
        lambda design, _, value: bool(value) and design.config.flags.get("enable-eplb") is not True,
        "is about balancing experts, which only enable-eplb turns on",
    ),
)

_HYBRID = Unfit(
    "disable-hybrid-kv-cache-manager",
    lambda design, _, value: (
        value is not False and design.model.facts.shape.recurrent is not None and len(design.groups) == 1
    ),
    "turns off what lays out a cache of keys, values and recurrent states",
)

_NO_CHAT = "serves no chat, and readiness is a completion with words"
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
        "prefill-context-parallel-size",
        lambda _, __, value: value != 1,
        "takes more ranks than the layout has, and no layout here splits prompts",
    ),
    Unfit("enable-elastic-ep", _on, f"adds and drops ranks at run time: {_STARTS}"),
    Unfit("tokens-only", _on, _NO_CHAT),
    Unfit("runner", _other_than("auto", "generate"), _NO_CHAT),
    Unfit("convert", _other_than("auto", "none"), _NO_CHAT),
    Unfit("skip-tokenizer-init", _on, _NO_CHAT),
    Unfit("grpc", _on, "serves another protocol than the endpoint of the plan"),
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
        _other_than("auto", "bfloat16"),
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
        "kda-prefill-backend",
        lambda design, _, value: design.family.vendor == "amd" and value == "flashkda",
        "is a kernel for CUDA only",
    ),
    Unfit(
        "kda-prefill-backend",
        lambda design, _, value: design.family.vendor != "amd" and value == "fused",
        "is a kernel for ROCm only",
    ),
    Unfit(
        "attention-backend",
        lambda design, _, value: design.family.vendor == "nvidia" and str(value).upper().startswith("ROCM"),
        "is a kernel for ROCm only",
    ),
)

_SCHEDULED = (
    Unfit(
        "enable-chunked-prefill",
        lambda design, group, value: value is False and _keeps_states(design, group),
        "turns off what keeps states at the end of blocks, which cached prefixes need here",
    ),
    Unfit(
        "enable-chunked-prefill",
        lambda design, group, value: (
            value is False and not _keeps_states(design, group) and group.batched_tokens < design.context
        ),
        "wants steps that hold the longest request, and they are shorter",
    ),
    Unfit(
        "long-prefill-token-threshold",
        lambda design, _, value: whole(value) > design.context,
        "is more than the tokens of the longest request (workload.context)",
    ),
    Unfit(
        "max-num-active-seqs",
        lambda _, group, value: whole(value) > (group.max_num_seqs or 0),
        "is more than the requests at once that an engine takes in (max-num-seqs)",
    ),
    Unfit(
        "cudagraph-capture-sizes",
        lambda _, __, value: not isinstance(value, list) or not value or min(map(whole, value)) < 1,
        "are no sizes of graphs",
        "write a list of whole numbers of 1 or more, or leave it out",
    ),
)


def _keeps_states(design: Design, group: GroupDesign) -> bool:
    return design.model.facts.shape.recurrent is not None and group.prefix_caching


def _unfit(table: tuple[Unfit, ...]) -> Callable[[Design, Sized], Iterator[Finding]]:
    """Return the check of a table; the lab's one engine is told once, and everything by its first engine."""

    def check(design: Design, _: Sized) -> Iterator[Finding]:
        for each in table:
            value = design.config.flags.get(each.name)
            if value is not None and any(each.where(design, group, value) for group in design.groups):
                yield Finding(f"flags.{each.name}", spelled(value), each.rule, each.way_out)

    return check


RULES = (
    Rule(
        "is-reckoned-with",
        "no option set by hand changes memory in a way that the plan does not reckon with",
        "stacks/planning/memory",
        _unfit((*_RECKONED, *_EXPERTS, _HYBRID)),
    ),
    Rule(
        "goes-with-the-ranks",
        "no option set by hand starts, places or fronts ranks otherwise than the plan",
        "vLLM 0.33.0, vllm/entrypoints/cli/serve.py and vllm/engine/arg_utils.py",
        _unfit(_PLACED),
    ),
    Rule(
        "goes-with-the-steps",
        "no option set by hand asks of steps and graphs what they cannot hold",
        "vLLM 0.33.0, vllm/config/scheduler.py and compilation.py, model_executor/models/config.py",
        _unfit(_SCHEDULED),
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
)

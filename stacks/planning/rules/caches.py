"""What the cache may be: its number formats, and how often it keeps a state."""

import json
from collections.abc import Iterator

from stacks.planning.design import Design
from stacks.planning.rules.rule import Finding, Rule, called
from stacks.planning.sized import Sized

_RETENTION = "prefix-cache-retention-interval"
_SIZED = ("auto", "bfloat16", "fp8", "fp8_e4m3")


def _fp8_on_rocm_is_confirmed(design: Design, _: Sized) -> Iterator[Finding]:
    confirmed, engine = design.config.fp8_kv_confirmed_on, design.config.engine
    fp8 = any(group.kv_cache == "fp8" for group in design.groups)
    if design.family.vendor == "amd" and fp8 and confirmed != engine:
        yield Finding(
            "fp8_kv_confirmed_on" if confirmed else "flags.kv-cache-dtype",
            confirmed or "fp8",
            f"does not say that somebody has seen an FP8 cache work on {design.machine.accelerator} with "
            f"{engine}",
            f"write kv-cache-dtype: auto, or fp8_kv_confirmed_on: {engine} once you have seen it",
        )


def _confirms_something(design: Design, _: Sized) -> Iterator[Finding]:
    confirmed = design.config.fp8_kv_confirmed_on
    fp8 = any(group.kv_cache == "fp8" for group in design.groups)
    if confirmed and not (design.family.vendor == "amd" and fp8):
        why = "the cache is not FP8" if design.family.vendor == "amd" else "only ROCm builds need it"
        yield Finding("fp8_kv_confirmed_on", confirmed, f"confirms nothing here, for {why}", "drop it")


def _nvfp4_is_not_for_mla(design: Design, _: Sized) -> Iterator[Finding]:
    wanted = design.config.flags.get("kv-cache-dtype")
    if isinstance(wanted, str) and "fp4" in wanted and design.model.facts.shape.attention.kind == "mla":
        yield Finding(
            "flags.kv-cache-dtype",
            wanted,
            f"is refused by the engine with multi-head latent attention, which {called(design)} has",
            "write fp8, or auto for the model's own type",
        )


def _is_sized(design: Design, _: Sized) -> Iterator[Finding]:
    wanted = design.config.flags.get("kv-cache-dtype")
    mla = design.model.facts.shape.attention.kind == "mla"
    if isinstance(wanted, str) and wanted not in _SIZED and not ("fp4" in wanted and mla):
        yield Finding(
            "flags.kv-cache-dtype",
            wanted,
            "is a type of the cache that no source gives the size of",
            f"write one of {', '.join(_SIZED)}",
        )


def _state_is_one_of_its_types(design: Design, _: Sized) -> Iterator[Finding]:
    wanted, recurrent = design.config.flags.get("mamba-ssm-cache-dtype"), design.model.facts.shape.recurrent
    choices = ("auto", *recurrent.state_choices) if recurrent else ()
    if wanted is not None and wanted not in choices:
        yield Finding(
            "flags.mamba-ssm-cache-dtype",
            wanted,
            f"is no type for which the catalog has the recurrent state of {called(design)}",
            f"write one of {', '.join(choices)}" if choices else "drop it, the model has no such state",
        )


def _retention_fits(design: Design, _: Sized) -> Iterator[Finding]:
    wanted, facts = design.config.flags.get(_RETENTION), design.model.facts
    if wanted is None or facts.retention is None:
        return
    step = facts.retention.multiple_of
    if type(wanted) is not int or wanted < 0 or wanted % step:
        yield Finding(
            f"flags.{_RETENTION}",
            json.dumps(wanted),
            f"is neither 0 nor a multiple of {step}, as {called(design)} needs",
            f"write 0 or {step}",
            facts.sources.get(facts.retention.source),
        )


RULES = (
    Rule(
        "fp8-cache-on-rocm-is-confirmed",
        "an FP8 cache on ROCm only where the stack confirms it for the exact engine pin",
        "https://recipes.vllm.ai/Qwen/Qwen3.8-2.4T-A95B; https://github.com/vllm-project/vllm/issues/50347",
        _fp8_on_rocm_is_confirmed,
    ),
    Rule(
        "confirms-something",
        "fp8_kv_confirmed_on stands only beside an FP8 cache on ROCm",
        "stacks/config/fleet.py",
        _confirms_something,
    ),
    Rule(
        "nvfp4-cache-is-not-for-mla",
        "no NVFP4 cache with multi-head latent attention",
        "vLLM 0.33.0, vllm/config/vllm.py",
        _nvfp4_is_not_for_mla,
    ),
    Rule(
        "cache-type-is-sized",
        "the cache has a number format whose size is known",
        "vLLM 0.33.0, vllm/v1/kv_cache_interface.py",
        _is_sized,
    ),
    Rule(
        "state-type-is-accepted",
        "the recurrent state has a number format that the catalog has for the model",
        "vLLM 0.33.0, vllm/model_executor/layers/mamba/mamba_utils.py",
        _state_is_one_of_its_types,
    ),
    Rule(
        "retention-interval-fits",
        "the interval at which states of a cached prefix are kept is one that the model can have",
        "retention of stacks/catalog/models",
        _retention_fits,
    ),
)

"""Options set by hand that do not go with the fleet: with its layout, its checkpoint, its GPUs, its sizes."""

import math
from collections.abc import Iterator, Mapping

from stacks.catalog.figures import Reasoned
from stacks.config import Setting
from stacks.planning.design import Design, GroupDesign
from stacks.planning.layers import KINDS, Kind
from stacks.planning.load import load_time
from stacks.planning.naming import spelled
from stacks.planning.options import documented, merged
from stacks.planning.rules.effective import effective, setting
from stacks.planning.rules.rule import Finding, Rule, called
from stacks.planning.rules.unfit import BALANCED
from stacks.planning.sized import Sized


def _balances_ranks(design: Design, _: Sized) -> Iterator[Finding]:
    """Say which engine cannot share requests out: what is set by hand holds for all of them."""
    if not design.config.flags.get(BALANCED):
        return
    others = [group for group in design.groups if _has_local_ranks(group)]
    for group in design.groups:
        if group not in others:
            own = [each.name for each in others if BALANCED in _said(design, each)]
            yield Finding(
                f"flags.{BALANCED}",
                spelled(design.config.flags[BALANCED]),
                "shares requests out between data parallel ranks of each machine, and "
                f"{group.name if len(design.groups) > 1 else 'the layout'} has none",
                "leave it out" + (f": the layout sets it for {own[0]}" if own else ""),
            )


def _has_local_ranks(group: GroupDesign) -> bool:
    return group.parallel.data_parallel > 1 and not group.parallel.data_parallel % group.machines


def _said(design: Design, group: GroupDesign) -> set[str]:
    return {name for _, options in documented(design, group, "flags") for name in options}


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


PATIENCE = "VLLM_ENGINE_READY_TIMEOUT_S"
_DEFAULT_PATIENCE = 600
"""Seconds that the engine waits by itself."""
_DIGITS = 9


def _waits_for_the_weights(design: Design, _: Sized) -> Iterator[Finding]:
    by_hand = design.config.env.get(PATIENCE)
    if by_hand is None:
        return
    said = patience(design)
    load = math.ceil(load_time(design).low or 0)
    least = max(load, _DEFAULT_PATIENCE + 1 if said else 1)
    if not _is_number(by_hand) or int(by_hand) < least:
        why = ""
        if load == least:
            why = f" of {least} or more, which the weights take to read at best"
        elif said:
            why = f" of more than {_DEFAULT_PATIENCE}: {said.why}"
        yield Finding(
            f"env.{PATIENCE}",
            spelled(by_hand),
            f"is no number of seconds{why}",
            f'write "{max(least, int(str(said.value)) if said else 1)}" or more, or leave it out',
            said.source if said and load < least else None,
        )


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) <= _DIGITS


def patience(design: Design) -> Reasoned | None:
    """Return how many seconds the catalog waits for the weights; None where it says nothing."""
    said = [
        options[PATIENCE]
        for group in design.groups
        for _, options in documented(design, group, "env")
        if PATIENCE in options
    ]
    return said[-1] if said else None


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
    if recurrent.kind != "kda" or design.family.vendor != "nvidia":
        return (
            f"is not supported by the engine for {called(design)} on {design.machine.accelerator}",
            "drop it",
        )
    if design.draft is None:
        first = "without a draft the engine replays states with its first model runner alone"
        return (first, "drop it, or write speculation: with a draft") if second else None
    if group.parallel.pipeline_parallel > 1:
        return "goes not with pipeline stages, which the engine refuses beside a draft", "drop it"
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
        "balances-data-ranks",
        "data parallel ranks share requests out on each machine (--data-parallel-hybrid-lb) only where it "
        "has some",
        "vLLM 0.33.0, vllm/engine/arg_utils.py",
        _balances_ranks,
    ),
    Rule(
        "waits-for-the-weights",
        "a start is given up no earlier than the weights need",
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
        "vLLM 0.33.0, vllm/config/vllm.py (validate_mamba_cached_kernel) and models/kimi_k3/nvidia/model.py",
        _replay_goes,
    ),
    Rule(
        "fp8-cache-quantizes-queries",
        "with an FP8 cache of Kimi K3 on NVIDIA, queries of a prefill are quantized too",
        "vLLM 0.33.0, vllm/models/kimi_k3/nvidia/mla.py",
        _queries_are_quantized,
    ),
)

"""Whether the workload's questions have answers that can come true."""

import math
from collections.abc import Iterator

from stacks.planning.design import Design, GroupDesign
from stacks.planning.load import load_time
from stacks.planning.memory import size
from stacks.planning.naming import duration
from stacks.planning.rules.capacity import SHARE, without
from stacks.planning.rules.rule import Finding, Rule, called
from stacks.planning.sized import Cache, Sized

_ADMITTED = "max-num-seqs"


def _context_is_opted_into(design: Design, _: Sized) -> Iterator[Finding]:
    limits, title = design.model.facts.context, called(design)
    source = design.model.facts.sources.get(limits.source)
    if design.context > limits.longest:
        yield Finding(
            "workload.context",
            design.context,
            f"is more than the {limits.longest} positions of {title}",
            f"write {limits.longest} or less",
            source,
        )
    elif design.context > limits.default and not design.config.workload.long_context:
        yield Finding(
            "workload.context",
            design.context,
            f"is more than {limits.default}, up to which {title} is served without being asked twice",
            f"write {limits.default} or less, or long_context: true if requests are really that long",
            source,
        )
    elif design.config.workload.long_context and design.context <= limits.default:
        yield Finding(
            "workload.long_context",
            "true",
            f"asks twice for a context of {design.context}, and up to {limits.default} asking once is enough",
            "drop it",
            source,
        )


def _requests_have_room(design: Design, sized: Sized) -> Iterator[Finding]:
    """Compare the requests in flight with the shortest ones that the pool holds at once."""
    for group in design.groups:
        _, cache = sized[group.name]
        held, wanted = _shortest(group, cache), design.config.workload.concurrency
        # Where not one fits, another rule speaks.
        if group.name == "prefill" or not 0 < held < wanted:
            continue
        yield Finding(
            "workload.concurrency",
            wanted,
            f"requests at once do not fit the cache, which holds {held} of the shortest",
            f"{_without_share(design, group, wanted)}write {_fewer(design, group, held)}, or take more GPUs",
        )


def _without_share(design: Design, group: GroupDesign, wanted: int) -> str:
    """Return that a share of memory set by hand keeps the requests out, where it does."""
    share = design.config.flags.get(SHARE)
    if share is None:
        return ""
    other, engine = without(design, group, SHARE)
    fits_then = _shortest(engine, size(other, engine)[1]) >= wanted
    return f"leave out {SHARE}: {share}, without which they fit, or " if fits_then else ""


def _fewer(design: Design, group: GroupDesign, held: int) -> str:
    """Return how many requests fit; few may bring a draft, beside which fewer fit than it comes for."""
    brought, most = _brought(design)
    fewer = _shortest(group, size(brought, group)[1]) if brought else held
    if not brought or fewer >= min(most, held):
        return f"{held} or less"
    alone = f"{held} or less with speculation: none"
    return f"{alone}, or {fewer} or less with the draft {brought.draft_name}" if fewer else alone


def _shortest(group: GroupDesign, cache: Cache) -> int:
    """Return how many of the shortest requests the pools of an engine hold at once, at best."""
    return max(cache.blocks.high, 0) // (cache.state_blocks + 1) * group.parallel.data_parallel


def _brought(design: Design) -> tuple[Design | None, int]:
    """Return the design with the draft that fewer requests bring, and up to how many; None where none."""
    facts, workload = design.model.facts, design.config.workload
    name = getattr(facts.speculation, workload.traffic, "")
    draft = facts.drafts.get(name)
    if draft is None or design.draft or design.config.speculation:
        return None, 0
    most = draft.pays_up_to or workload.concurrency
    return design.model_copy(update={"draft_name": name, "draft": draft}), most


def _requests_are_admitted(design: Design, _: Sized) -> Iterator[Finding]:
    """Compare the requests in flight with those that the layout's own engines take in at once."""
    wanted = design.config.workload.concurrency
    for group in design.groups:
        most = (group.max_num_seqs or wanted) * group.parallel.data_parallel
        if group.name != "prefill" and most < wanted and _ADMITTED not in design.config.flags:
            ranks = f" x {group.parallel.data_parallel} data parallel ranks" * (
                group.parallel.data_parallel > 1
            )
            yield Finding(
                "workload.concurrency",
                wanted,
                f"requests at once are more than the {most} that the layout's engine takes in "
                f"({_ADMITTED} {group.max_num_seqs}{ranks})",
                f"write {most} or less, or take a layout of more ranks",
            )


def _window_is_long_enough(design: Design, _: Sized) -> Iterator[Finding]:
    run, load = design.config.run, load_time(design)
    if run.reserved is None:
        return
    needed = (load.high or 0) + (run.evaluation or 0)
    if needed > run.reserved:
        loading = f"{duration(load.high)} of loading" if load.high else "loading"
        evaluation = f" and {duration(run.evaluation)} of evaluation" if run.evaluation else ""
        yield Finding(
            "run.reserved",
            duration(run.reserved),
            f"end before {loading}{evaluation} are over",
            f"reserve {math.ceil(needed / 60)} min or more, or shorten the evaluation",
        )


RULES = (
    Rule(
        "context-is-opted-into",
        "a context past the model's default is asked for twice (long_context: true), no other one is, and "
        "none is past its positions",
        "context of stacks/catalog/models",
        _context_is_opted_into,
    ),
    Rule(
        "requests-have-room",
        "the cache holds as many requests as are to be in flight, at least the shortest ones",
        "vLLM 0.33.0, vllm/v1/core/kv_cache_utils.py",
        _requests_have_room,
    ),
    Rule(
        "requests-are-admitted",
        "the engine of a documented layout takes in as many requests as are to be in flight",
        "options of the layouts of stacks/catalog/models",
        _requests_are_admitted,
    ),
    Rule(
        "window-is-long-enough",
        "the reserved time is long enough to load the weights and to run the evaluation",
        "https://github.com/skypilot-org/skypilot/issues/8054",
        _window_is_long_enough,
    ),
)

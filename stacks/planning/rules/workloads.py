"""Whether the workload's questions have answers that can come true."""

from collections.abc import Iterator

from stacks.planning.design import Design
from stacks.planning.load import load_time
from stacks.planning.rules.capacity import fits
from stacks.planning.rules.rule import Finding, Rule, Sized, called

_HOUR, _MINUTE = 3600, 60


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


def _requests_have_room(design: Design, sized: Sized) -> Iterator[Finding]:
    """Compare the requests in flight with the shortest ones that the pool holds at once."""
    for group in design.groups:
        memory, cache = sized[group.name]
        if group.name == "prefill" or not fits(design, memory, cache):
            continue
        held = max(cache.blocks.high, 0) // (cache.state_blocks + 1) * group.parallel.data_parallel
        wanted = design.config.workload.concurrency
        if held < wanted:
            yield Finding(
                "workload.concurrency",
                wanted,
                f"requests at once do not fit the cache, which holds {held} of the shortest",
                f"write {held} or less, or take more GPUs",
            )


def _window_is_long_enough(design: Design, _: Sized) -> Iterator[Finding]:
    run, load = design.config.run, load_time(design)
    if run.reserved is None:
        return
    needed = (load.high or 0) + (run.evaluation or 0)
    if needed > run.reserved:
        loading = f"{_hours(load.high)} of loading" if load.high else "loading"
        evaluation = f" and {_hours(run.evaluation)} of evaluation" if run.evaluation else ""
        yield Finding(
            "run.reserved",
            _hours(run.reserved),
            f"end before {loading}{evaluation} are over",
            f"reserve more than {_hours(needed)}, or shorten the evaluation",
        )


def _hours(seconds: float) -> str:
    return f"{seconds / _HOUR:.1f} h" if seconds >= _HOUR else f"{seconds / _MINUTE:.0f} min"


RULES = (
    Rule(
        "context-is-opted-into",
        "a context past the model's default is asked for twice (long_context: true), and never past its "
        "positions",
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
        "window-is-long-enough",
        "the reserved time is long enough to load the weights and to run the evaluation",
        "https://github.com/skypilot-org/skypilot/issues/8054",
        _window_is_long_enough,
    ),
)

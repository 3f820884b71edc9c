"""What the planner itself asks of the engine: the sizes it settled, and the draft by its local path."""

from collections.abc import Iterator

from stacks.catalog.figures import Options, Reasoned, address
from stacks.config import Setting
from stacks.planning import pins
from stacks.planning.design import Design, GroupDesign
from stacks.planning.layers import Kind, addressed
from stacks.planning.memory import kv_cache_gib
from stacks.planning.naming import of_engine
from stacks.planning.reasons import LONGEST, Choice, Origin
from stacks.values import Value


class Wish(Value):
    """An option that the planner has settled.

    Attributes:
        reasoned: The option.
        default: What the engine does without it; None where that is never what is wanted.
    """

    reasoned: Reasoned
    default: Setting | None


def planned(design: Design, group: GroupDesign, kind: Kind) -> dict[str, Wish]:
    """Return what the planner has settled for an engine, by name of the option."""
    return dict(_sizes(design, group) if kind == "flags" else _variables(design, group))


def draft(design: Design, kind: Kind) -> Iterator[tuple[Origin, Options]]:
    """Yield how the engine speculates; a draft model is read from its verified copy on the host."""
    if design.draft is None or kind == "env":
        return
    facts, pin = design.draft, pins.draft(design)
    settings: dict[str, str | int | bool] = {"model": pin.home} if pin else {}
    settings |= {"method": facts.method, "num_speculative_tokens": facts.tokens}
    settings |= {**facts.settings, **facts.on_family.get(design.family_name, {})}
    local = f"; the verified copy on the host stands in for {pin.repository}" if pin else ""
    asked = Reasoned(
        value=dict(settings),
        why=f"{facts.why}{local}",
        source=address(design.model.facts.sources, facts.source),
    )
    yield "draft", {"speculative-config": asked}


def long_context(design: Design, kind: Kind) -> Iterator[tuple[Origin, Options]]:
    """Yield what a context past the model's own positions needs."""
    facts = design.model.facts.context
    if design.context > facts.native:
        yield "model", addressed(getattr(facts, kind), design.model.facts.sources)


def _sizes(design: Design, group: GroupDesign) -> Iterator[tuple[str, Wish]]:
    engine, recurrent = design.engine.facts, design.model.facts.shape.recurrent
    why = LONGEST
    yield "max-model-len", _wish(design.context, None, why, "workload.context")
    settled: dict[str, tuple[Setting | None, Setting | None]] = {
        "max-num-seqs": (group.max_num_seqs, None),
        "max-num-batched-tokens": (group.batched_tokens, engine.default_step(design.machine.accelerator)),
        "gpu-memory-utilization": (group.utilization, engine.utilization),
        "kv-cache-dtype": ("fp8" if group.kv_cache == "fp8" else "auto", "auto"),
    }
    if recurrent:
        # Said aloud, for over recurrent state the engine's default moved between releases.
        settled["enable-prefix-caching"] = (group.prefix_caching, None)
        settled["mamba-ssm-cache-dtype"] = (group.state, recurrent.state)
    for name, (value, default) in settled.items():
        if value is not None:
            yield name, _settled(design, group, name, value, default)


def _variables(design: Design, group: GroupDesign) -> Iterator[tuple[str, Wish]]:
    if design.lab:
        why = "GiB of the host's memory for the cache, enough for one longest request"
        size = str(kv_cache_gib(design, group))
        yield "VLLM_CPU_KVCACHE_SPACE", _wish(size, None, why, "stacks/planning/memory")


def _settled(design: Design, group: GroupDesign, name: str, value: Setting, default: Setting | None) -> Wish:
    """Return a size with the reason that stands in the plan's choices."""
    choice = _choice(design, group, name)
    if choice is None:
        return _wish(value, default, "as the planner settled it", "assumption")
    return _wish(value, default, choice.why, choice.source)


def _choice(design: Design, group: GroupDesign, name: str) -> Choice | None:
    what = name + of_engine(group.name)
    return next((choice for choice in design.choices if choice.what == what), None)


def _wish(value: Setting, default: Setting | None, why: str, source: str) -> Wish:
    return Wish(reasoned=Reasoned(value=value, why=why, source=source), default=default)

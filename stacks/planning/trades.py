"""What a size costs: open sizes are settled, and the choices say what else there was."""

from collections.abc import Iterator

from stacks.planning.design import Design, GroupDesign
from stacks.planning.memory import size
from stacks.planning.naming import of_engine
from stacks.planning.reasons import BY_HAND, LONGEST, SET_BY_HAND, Alternative, Choice
from stacks.planning.sized import Sized

_BATCHED = "max-num-batched-tokens"


def settled(design: Design) -> tuple[Design, Sized]:
    """Return the design with its sizes raised to what the cache needs, and what then fits."""
    raised = [_raised(design, group) for group in design.groups]
    choices = tuple(choice for _, found in raised for choice in found)
    names = {choice.what for choice in choices}
    design = design.model_copy(
        update={
            "groups": tuple(group for group, _ in raised),
            "choices": (*(choice for choice in design.choices if choice.what not in names), *choices),
        }
    )
    return design, {group.name: size(design, group) for group in design.groups}


def _raised(design: Design, group: GroupDesign) -> tuple[GroupDesign, tuple[Choice, ...]]:
    """Return a group whose steps hold one block, which a prefix cache over recurrent state needs."""
    block = size(design, group)[1].block_tokens
    default = group.batched_tokens == design.engine.facts.default_step(design.machine.accelerator)
    recurrent = design.model.facts.shape.recurrent is not None
    if not (default and recurrent and group.prefix_caching and block > group.batched_tokens):
        return group, ()
    choice = Choice(
        what=_BATCHED + of_engine(group.name),
        value=f"{block:,}",
        why=f"with a prefix cache a step must hold one block of {block:,} tokens",
        source="https://github.com/vllm-project/vllm/issues/49141",
        alternatives=(
            Alternative(
                value=f"{group.batched_tokens:,}",
                why_not="states would be kept at fewer places, where not at all",
            ),
        ),
    )
    return group.model_copy(update={"batched_tokens": block}), (choice,)


def traded(design: Design, sized: Sized) -> tuple[Choice, ...]:
    """Return all choices, those of context and prefix cache with what their alternatives would hold."""
    context = Choice(
        what="max-model-len",
        value=f"{design.context:,}",
        why=LONGEST,
        source="workload.context",
        alternatives=tuple(_contexts(design, sized)),
    )
    rest = (
        choice.model_copy(update={"alternatives": tuple(_without_prefixes(design, sized))})
        if choice.what == "enable-prefix-caching" and choice.value == "on"
        else choice
        for choice in design.choices
    )
    return (machines(design), context, *rest, *_interface(design))


def machines(design: Design) -> Choice:
    """Return how many machines there are, and why."""
    return Choice(
        what="machines",
        value=f"{design.count} x {design.machine.title}",
        why="what the layout needs" if _count(design) is None else SET_BY_HAND,
        source="layout" if _count(design) is None else BY_HAND,
    )


def _interface(design: Design) -> Iterator[Choice]:
    """Yield by which network interface the ranks meet, where they need one and it is not known yet."""
    if not design.gated or design.count == 1:
        return
    *names, last = _of_each_host(design)
    yield Choice(
        what="network interface of the ranks",
        value="that of each host's route to the head",
        why=(
            f"each host is asked for it before a rank starts; {', '.join(names)} and {last} are filled in "
            "for it then, and stand in no command here"
        ),
        source="https://github.com/vllm-project/recipes/tree/main/strategies",
    )


def _of_each_host(design: Design) -> Iterator[str]:
    """Yield the variables that the gates fill in (components/readiness/gates/settings.py)."""
    yield from ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
    if design.fabric.kind == "rdma" and any(host.nics for host in design.listed):
        yield "NCCL_IB_HCA"
    if len(design.groups) > 1:
        yield "UCX_NET_DEVICES"


def _count(design: Design) -> int | None:
    return design.config.machines.count


def _contexts(design: Design, sized: Sized) -> Iterator[Alternative]:
    facts = design.model.facts.context
    longer = {tokens for tokens in (facts.native, facts.longest) if tokens > design.context}
    for tokens in sorted({*longer, min(facts.default, design.context)} - {design.context}):
        other = design.model_copy(update={"context": tokens})
        yield Alternative(value=f"{tokens:,}", why_not=_compared(design, sized, other))


def _without_prefixes(design: Design, sized: Sized) -> Iterator[Alternative]:
    groups = tuple(group.model_copy(update={"prefix_caching": False}) for group in design.groups)
    off = design.model_copy(update={"groups": groups})
    yield Alternative(
        value="off", why_not=f"prompts that begin alike are computed again; {_compared(design, sized, off)}"
    )


def _compared(design: Design, sized: Sized, other: Design) -> str:
    return compared(design, sized, other, {group.name: size(other, group) for group in other.groups})


def compared(design: Design, sized: Sized, other: Design, instead: Sized) -> str:
    """Return how many requests the engine that writes answers would hold instead, on all its ranks."""
    if not all(memory.weighed for memory, _ in (*sized.values(), *instead.values())):
        return "how many requests the cache holds is unknown, for the size of the weights is"
    (now, of), (most, each) = _held(design, sized), _held(other, instead)
    if (now, of) == (most, each):
        return f"the cache holds at most {now} requests of {of} tokens at once either way"
    lengths = "" if of == each else f" of {of}"
    return (
        f"the cache would hold at most {most} requests of {each} tokens at once, and holds {now}{lengths} now"
    )


def _held(design: Design, sized: Sized) -> tuple[str, str]:
    group = design.groups[-1]
    requests = sized[group.name][1].requests[0]
    return f"{requests.high * group.parallel.data_parallel:,.1f}", f"{requests.tokens:,}"

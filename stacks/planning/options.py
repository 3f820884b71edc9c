"""Engine options and variables of every rank of an engine: who asks for what, merged, with the reasons."""

from collections.abc import Iterator
from typing import Any

from stacks.catalog.figures import Options, Reasoned
from stacks.planning.design import Design, GroupDesign
from stacks.planning.layers import KINDS, Kind, layers, voices
from stacks.planning.naming import spelled
from stacks.planning.packages import lacking
from stacks.planning.planned import Wish, draft, long_context, planned
from stacks.planning.reasons import Option, Origin


def options(design: Design, group: GroupDesign) -> tuple[tuple[Option, ...], tuple[Option, ...]]:
    """Return the engine options and the environment of all ranks of an engine, without its membership.

    A later voice wins, and brings its reason along; of a JSON option it wins key by key.
    """
    flags, env = _collected(design, group, "flags"), _collected(design, group, "env")
    return tuple(flags.values()), tuple(env.values())


def left_out(design: Design, group: GroupDesign) -> tuple[str, ...]:
    """Return a sentence for each option that the engine's lock is too old for, or not known to hold."""
    found = (
        f"{_spelled(name, kind)} is left out of {group.name}: it {lack}; {reasoned.why}"
        for kind in KINDS
        for _, name, reasoned in _asking(design, group, kind)
        for lack in lacking(design.lock, reasoned.needs)
    )
    return tuple(dict.fromkeys(found))


def merged(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """Return all keys of two JSON options; the later one wins key by key, also one level below."""
    found = dict(earlier)
    for name, value in later.items():
        below = found.get(name)
        found[name] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def _collected(design: Design, group: GroupDesign, kind: Kind) -> dict[str, Option]:
    found: dict[str, Option] = {}
    for origin, name, reasoned in _asking(design, group, kind):
        if not any(lacking(design.lock, reasoned.needs)):
            option = Option(
                name=name, value=reasoned.value, why=reasoned.why, source=reasoned.source, origin=origin
            )
            found[name] = _joined(found[name], option) if name in found else option
    return found


def _asking(design: Design, group: GroupDesign, kind: Kind) -> Iterator[tuple[Origin, str, Reasoned]]:
    """Yield who asks for what, the last word last; what the planner settled stands just before the hand."""
    *_, (_, by_hand) = layers(voices(design, group), kind)
    said: dict[str, Reasoned] = {}
    for origin, asked in documented(design, group, kind):
        said |= asked
        yield from ((origin, name, reasoned) for name, reasoned in asked.items())
    for name, wish in planned(design, group, kind).items():
        if name not in by_hand and _speaks_up(wish, said.get(name)):
            yield "planner", name, wish.reasoned
    yield from (("hand", name, reasoned) for name, reasoned in by_hand.items())


def documented(design: Design, group: GroupDesign, kind: Kind) -> Iterator[tuple[Origin, Options]]:
    """Yield what the catalog asks for, before the planner's own sizes and what is set by hand."""
    *catalogued, _ = layers(voices(design, group), kind)
    yield from (*catalogued, *long_context(design, kind), *draft(design, kind))


def _speaks_up(wish: Wish, said: Reasoned | None) -> bool:
    """Return whether the planner has to say it: not where somebody has, nor what the engine does anyway."""
    return wish.reasoned.value != (wish.default if said is None else said.value)


def _joined(earlier: Option, later: Option) -> Option:
    """Return the later option; where both are JSON, both with the reasons of both."""
    if not (isinstance(earlier.value, dict) and isinstance(later.value, dict)):
        return _instead(earlier, later) if later.origin == "hand" else later
    joined = merged(earlier.value, later.value)
    replaced = _replaced(earlier.value, joined)
    return Option(
        name=later.name,
        value=joined,
        why=f"{later.why} instead of {spelled(replaced)}: {earlier.why}"
        if replaced and later.origin == "hand"
        else _both(earlier.why, later.why),
        source=_both(earlier.source, later.source),
        origin=later.origin,
    )


def _instead(earlier: Option, by_hand: Option) -> Option:
    """Return what is set by hand with what it takes the place of, and why that was asked for."""
    if earlier.value == by_hand.value:
        return by_hand
    why = f"{by_hand.why} instead of {spelled(earlier.value)}: {earlier.why}"
    return by_hand.model_copy(update={"why": why, "source": _both(by_hand.source, earlier.source)})


def _replaced(earlier: dict[str, Any], joined: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a JSON option, also one level below, that are no longer what they were."""
    found: dict[str, Any] = {}
    for name, value in earlier.items():
        now = joined[name]
        if isinstance(value, dict) and isinstance(now, dict):
            found |= {name: below} if (below := _replaced(value, now)) else {}
        elif value != now:
            found[name] = value
    return found


def _both(earlier: str, later: str) -> str:
    return "; ".join(dict.fromkeys((earlier, later)))


def _spelled(name: str, kind: Kind) -> str:
    return f"--{name}" if kind == "flags" else name

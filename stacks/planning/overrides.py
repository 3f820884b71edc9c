"""What it costs to set something by hand: the same fleet is planned without it, and both are compared."""

from collections.abc import Callable, Iterator
from typing import Any

from stacks.config import FleetConfig
from stacks.planning.design import Design
from stacks.planning.naming import many
from stacks.planning.reasons import BY_HAND, Choice
from stacks.planning.rules.capacity import fits
from stacks.planning.sized import Sized
from stacks.planning.trades import compared, machines, settled, traded

Chooser = Callable[[FleetConfig], Design]
"""From a configuration to what the planner chooses for it."""

_KEYS = ("checkpoint", "layout", "speculation")


def priced(design: Design, sized: Sized, chooser: Chooser) -> Iterator[Choice]:
    """Yield all choices; those made by hand with what they cost against the planner's own."""
    for choice in traded(design, sized):
        without = _without(design.config, choice.what) if choice.source == BY_HAND else None
        cost = _cost(choice, design, sized, chooser(without)) if without else None
        yield choice.model_copy(update={"cost": cost}) if cost else choice


def _without(config: FleetConfig, what: str) -> FleetConfig | None:
    """Return a configuration that leaves one decision open; None where it cannot be left open."""
    option = what.partition(" of ")[0]
    change: dict[str, Any] = {}
    if what in _KEYS:
        change = {what: None}
    elif what == "machines" and config.machines.provider == "baremetal":
        change = {what: config.machines.model_copy(update={"count": None})}
    elif option in config.flags:
        change = {"flags": {name: value for name, value in config.flags.items() if name != option}}
    return config.model_copy(update=change) if change else None


def _cost(choice: Choice, design: Design, sized: Sized, chosen: Design) -> str | None:
    """Return what the planner would have taken, with GPUs and requests; None where it is the same."""
    if _own(choice, chosen) is None:
        return None
    other, instead = settled(chosen)
    own = _own(choice, other)
    if own is None:
        return None
    taken = f"the planner would have taken {own.value}: {own.why}"
    if not all(fits(other, *instead[group.name]) for group in other.groups):
        return f"{taken}; that would not fit"
    return "; ".join((taken, *_gpus(design, other), compared(design, sized, other, instead)))


def _own(choice: Choice, other: Design) -> Choice | None:
    """Return what the planner decides by itself; None where it is the same."""
    found = next((each for each in (machines(other), *other.choices) if each.what == choice.what), None)
    return found if found and found.value != choice.value else None


def _gpus(design: Design, other: Design) -> Iterator[str]:
    more = (other.count - design.count) * design.machine.gpus
    if more:
        yield f"it takes {many(abs(more), 'GPU')} {'more' if more > 0 else 'fewer'}"

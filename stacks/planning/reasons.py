"""Why the plan is as it is: choices, engine options with their reasons, and the evidence."""

from typing import Literal

from stacks.catalog.models import Evidence
from stacks.config import Setting
from stacks.values import Value

LONGEST = (
    "the longest request of the workload; nothing is reserved for it, but longer ones are refused "
    "before they take the cache of many"
)
"""Why the engine gets the context that it gets."""

BY_HAND = "the stack file"
SET_BY_HAND = "set by hand"

Origin = Literal[
    "engine", "family", "model", "profile", "checkpoint", "fabric", "layout", "draft", "planner", "hand"
]
"""Where an option comes from; a later one of these wins over an earlier one."""


class Alternative(Value):
    """What else could have been chosen, and why it was not."""

    value: str
    why_not: str


class Choice(Value):
    """One decision of the planner, or of a person in its place.

    Attributes:
        what: What was decided: checkpoint, layout, max-model-len …
        value: The decision, as a person reads it.
        why: The reason, one clause.
        source: Where the reason stands; BY_HAND where a person set it.
        cost: What a value set by hand costs against the planner's own; None where nothing.
        alternatives: What else there was.
    """

    what: str
    value: str
    why: str
    source: str
    cost: str | None = None
    alternatives: tuple[Alternative, ...] = ()


class Option(Value):
    """An engine option (`max-model-len`) or a variable, with its reason.

    Attributes:
        name: Without dashes, or the variable's name.
        value: True for a switch, false for its `--no-` form; a mapping is written as JSON.
        why: The reason, one clause.
        source: Where it stands.
        origin: Who asks for it.
    """

    name: str
    value: Setting
    why: str
    source: str
    origin: Origin


Label = Literal[
    "run by Rackstack's own tests",
    "documented on these versions",
    "documented on other versions",
    "another engine's evidence",
    "sized only",
    "undocumented",
]


class Standing(Value):
    """What is known of this layout on these pins.

    Attributes:
        label: Computed from the pins.
        sentence: The label in words, with who, where and on which versions.
        evidence: Everything that is written down about this layout, best first.
    """

    label: Label
    sentence: str
    evidence: tuple[Evidence, ...]

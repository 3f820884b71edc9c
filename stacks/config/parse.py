"""From the decoded stack file to `FleetConfig`, or to every fault in it."""

import re
from collections.abc import Iterator

from pydantic import ValidationError

from stacks.config.fleet import FleetConfig
from stacks.errors import ConfigError
from stacks.faults import described, dotted, explain, field_at, shown
from stacks.places import Location

KEY = "rackstack:fleet"
_PINS: tuple[Location, ...] = (
    ("model",),
    ("checkpoint",),
    ("engine",),
    ("speculation",),
    ("fp8_kv_confirmed_on",),
    ("machines", "image"),
    ("machines", "type"),
    ("flags", "revision"),
    ("flags", "code-revision"),
    ("flags", "tokenizer-revision"),
    ("flags", "speculative-config", "revision"),
)
_EDGE = r"(?:^|$|[-_.:@/+])"
_FLOATING = re.compile(
    rf"[<>=~^*]|\.x\b|{_EDGE}(?:latest|nightly|main|master|head|trunk|stable|dev){_EDGE}", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"""
    \$[A-Za-z_] | \$[{(]                                     # of a shell
    | \{\{                                                   # of a template
    | <[A-Za-z][^<>]*>                                       # of a manual
    | (?<![a-z])(?:(?:change|replace|fill)[-_ ]?me|to-?do|tbd|fixme|x{3,}|your[-_][a-z-_]+)(?![a-z])
    """,
    re.IGNORECASE | re.VERBOSE,
)


def parse(raw: object, source: str) -> FleetConfig:
    """Return the fleet that a person asked for.

    Args:
        raw: The decoded object under `rackstack:fleet`; None where the stack file has none.
        source: Where it was read, for the messages (`stacks/Pulumi.lab.yaml`).

    Raises:
        ConfigError: Something is wrong; lists every fault as `source: path: sentence`.
    """
    if raw is None:
        raise ConfigError(
            [f"{source}: {KEY}: is missing: the fleet; start from the one in stacks/Pulumi.lab.yaml"]
        )
    faults = dict(_floating(raw)) | dict(_placeholders(raw))
    try:
        config = FleetConfig.model_validate(raw)
    except ValidationError as error:
        # A placeholder also breaks the type or the pattern of its key; one sentence per key is enough.
        faults = dict(explain(error, FleetConfig)) | faults
    if faults:
        raise ConfigError(
            sorted(f"{source}: {dotted((KEY, *at))}: {sentence}" for at, sentence in faults.items())
        )
    return config


def _placeholders(value: object, at: Location = ()) -> Iterator[tuple[Location, str]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _placeholders(below, (*at, str(key)))
    elif isinstance(value, list):
        for position, below in enumerate(value):
            yield from _placeholders(below, (*at, position))
    elif isinstance(value, str) and _PLACEHOLDER.search(value):
        text = shown(value, field_at(FleetConfig, at))
        yield (
            at,
            f"{text} holds an unresolved placeholder, and nothing fills it in here; write the value itself",
        )


def _floating(fleet: object) -> Iterator[tuple[Location, str]]:
    for at in _PINS:
        value = _value(fleet, at)
        if isinstance(value, str) and _FLOATING.search(value):
            yield at, f"{shown(value)} floats: tomorrow it is another; write an exact {_pin(at)}"


def _pin(at: Location) -> str:
    return "revision" if at[0] == "flags" else described(field_at(FleetConfig, at))


def _value(tree: object, at: Location) -> object:
    for key in at:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree

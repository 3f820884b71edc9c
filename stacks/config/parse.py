"""From the decoded stack file to `FleetConfig`, or to every fault in it."""

import re
from collections.abc import Callable, Iterator

from pydantic import ValidationError

from stacks.config.addresses import untold
from stacks.config.fleet import FleetConfig
from stacks.config.repeats import listed_twice
from stacks.config.storage import two_places
from stacks.errors import ConfigError
from stacks.faults import described, dotted, explain, field_at, shown
from stacks.places import Location, written

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
_TEMPLATE = r"\$[{(] | \{\{"
_STAND_IN = r"""
    \$[A-Za-z_]\w*                                           # of a shell
    | \{[A-Za-z_][\w.-]*\} | %[A-Za-z_]\w{2,}% | @[A-Za-z_][\w-]*@     # of a template
    | <[A-Za-z0-9][^<>]*> | <[A-Za-z][\w-]*                  # of a manual
    | \?{3,} | \.{3,} | …
    | (?-i:__[A-Z][A-Z0-9_]*__)
    | (?<![a-z])(?:
        (?:change|replace|fill)[-_ ]?(?:me|it|this|in) | to-?do | tbd | fixme | x{3,}
        | your[-_][a-z-_]+ | insert[-_ ](?:\w+[-_ ])?here
      )(?![a-z])
    | (?<![\w.])\d{1,3}(?:\.(?:\d{1,3}|x)){2}\.x(?![\w.])    # an address
"""
_NAMED = r"(?:^|//)(?-i:[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:ADDR|ADDRESS|IP|HOST|HOSTNAME|NAME|PORT))(?=$|[:/])"
_PLACEHOLDER = re.compile(f"{_TEMPLATE} | {_STAND_IN} | {_NAMED}", re.IGNORECASE | re.VERBOSE)
_PLACEHOLDER_ALONE = re.compile(rf"{_TEMPLATE} | ^\s*(?:{_STAND_IN})\s*$", re.IGNORECASE | re.VERBOSE)
_FOR_PEOPLE: tuple[Location, ...] = (("accept_undocumented",), ("price", "source"))
"""Sentences, in which a word in angle brackets or a `todo` may be meant as it stands."""


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
    faults = dict(listed_twice(raw)) | dict(two_places(raw)) | dict(_floating(raw))
    faults |= _faults(raw, _placeholders) | _faults(raw, _unseen)
    try:
        config = FleetConfig.model_validate(raw)
    except ValidationError as error:
        # A placeholder also breaks the type or the pattern of its key; one sentence per key is enough.
        faults = dict(explain(error, FleetConfig)) | faults
    # Last: what may hold a secret is shown by none of the others.
    faults |= dict(untold(raw))
    if faults:
        raise ConfigError(
            sorted(f"{source}: {dotted((KEY, *at))}: {sentence}" for at, sentence in faults.items())
        )
    return config


def _placeholders(at: Location, text: str) -> Iterator[str]:
    if (_PLACEHOLDER_ALONE if at in _FOR_PEOPLE else _PLACEHOLDER).search(text):
        field = field_at(FleetConfig, at)
        # Beside the keys of `access` an unknown key may well hold a secret.
        value = "the value there (not shown)" if field is None and at[0] == "access" else shown(text, field)
        yield f"{value} holds an unresolved placeholder, and nothing fills it in here; write the value itself"


def _unseen(_: Location, text: str) -> Iterator[str]:
    """Yield what breaks a line, a picture or a unit file; without the text, which may be a secret."""
    unseen = next((each for each in text if not each.isprintable()), None)
    if unseen is not None:
        yield f"holds the character U+{ord(unseen):04X}, which cannot be printed in a line; write it without"


def _faults(raw: object, rule: Callable[[Location, str], Iterator[str]]) -> dict[Location, str]:
    return {at: sentence for at, text in _texts(raw, ()) for sentence in rule(at, text)}


def _texts(value: object, at: Location) -> Iterator[tuple[Location, str]]:
    """Yield every text that a person has written, and where; of the keys those that cannot be printed."""
    if isinstance(value, dict):
        for key, below in value.items():
            name = str(key)
            yield from _texts(below, (*at, name))
            if not name.isprintable():
                yield (*at, name), name
    elif isinstance(value, list):
        for position, below in enumerate(value):
            yield from _texts(below, (*at, position))
    elif isinstance(value, str):
        yield at, value


def _floating(fleet: object) -> Iterator[tuple[Location, str]]:
    for at in _PINS:
        value = written(fleet, at)
        if isinstance(value, str) and _FLOATING.search(value):
            yield at, f"{shown(value)} floats: tomorrow it is another; write an exact {_pin(at)}"


def _pin(at: Location) -> str:
    return "revision" if at[0] == "flags" else described(field_at(FleetConfig, at))

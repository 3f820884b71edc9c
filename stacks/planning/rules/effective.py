"""Which engine options and variables an engine really gets, whoever asks for them."""

from collections.abc import Mapping

from stacks.planning.design import Design, GroupDesign
from stacks.planning.layers import Kind
from stacks.planning.options import options
from stacks.planning.reasons import Option


def effective(design: Design, group: GroupDesign, kind: Kind) -> dict[str, Option]:
    """Return every option (or variable) of an engine by name, with who has the last word on it."""
    flags, env = options(design, group)
    return {option.name: option for option in (flags if kind == "flags" else env)}


def setting(options: Mapping[str, Option], name: str, *keys: str) -> object:
    """Return the value of an option, or one inside its mapping; None where there is none."""
    found: object = options[name].value if name in options else None
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found

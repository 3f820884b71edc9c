"""Faults of pydantic models in our own words: the value, the rule, the way out."""

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from stacks.places import KEY, Location, Place, homes, keys, place, required, said, words

__all__ = ["Location", "described", "dotted", "explain", "field_at", "nearest", "shown"]

_RULES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
    "list_type": "a list",
    "tuple_type": "a list",
}
_NAMES = {
    bool: "a truth value",
    int: "a whole number",
    float: "a decimal number",
    str: "text",
    list: "a list",
}
_LIMITS = {
    "greater_than": ("too small", "more than", "gt"),
    "greater_than_equal": ("too small", "at least", "ge"),
    "less_than": ("too large", "less than", "lt"),
    "less_than_equal": ("too large", "at most", "le"),
}
_SAID = {
    "literal_error": "is not known here; it must be {expected}",
    "too_long": "lists {actual_length}, too many to be meant; it must list at most {max_length}",
}
"""Kind of fault → rule and way out, with what pydantic says of it."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_LONGEST = 60
_TELLING = 4  # letters that are enough to find a longer name by
_FEW_HOMES = 2  # places of one key that are named; more would tell nothing


class _Found(NamedTuple):
    fault: ErrorDetails
    place: Place
    model: type[BaseModel]


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[Location, str]]:
    """Yield where and what for every fault that pydantic found in a value of `model`."""
    faults = error.errors(include_url=False)
    yield from _sentences([_Found(each, place(model, each["loc"], in_file=False), model) for each in faults])


def dotted(at: Location) -> str:
    """Return a location as a person writes it: `machines.count`, `packages[2]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_text(part)[1:-1]}" for part in at)
    return "".join(parts).removeprefix(".")


def shown(value: object, field: FieldInfo | None = None) -> str:
    """Return a value for a message, as YAML has it; what may be a secret (`repr=False`) is never shown."""
    if field is not None and not field.repr:
        return "the value there (not shown, it may be a secret)"
    text = _text(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def field_at(model: type[BaseModel], at: Location) -> FieldInfo | None:
    """Return the field that a location in a file belongs to, None where the model has none."""
    return place(model, at).field


def described(field: FieldInfo | None) -> str:
    """Return what belongs there, for the way out: description and example of a field."""
    return f"{_description(field)}{_example(field)}"


def nearest(word: str, known: list[str]) -> str:
    """Return the known words as a way out, the likely one first: `did you mean count? known are: …`."""
    within = [name for name in sorted(known) if len(word) >= _TELLING and word in name]
    close = within or difflib.get_close_matches(word, known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"{guess}known are: {', '.join(sorted(known))}"


def _text(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    # What JSON leaves as it is may still break a line or turn it around.
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _sentences(found: Sequence[_Found], depth: int = 0) -> Iterator[tuple[Location, str]]:
    """Yield the sentences. A value that may be of several types gets one, not one for each of them."""
    for union, faults in groupby(found, lambda each: each.place.unions[depth : depth + 1]):
        together = list(faults)
        if not union:
            yield from map(_sentence, together)
        elif inside := [each for each in together if len(each.place.at) > len(union[0])]:
            yield from _sentences(inside, depth + 1)
        else:
            yield union[0], _none_of_several(together, place(together[0].model, union[0]))


def _none_of_several(tried: Sequence[_Found], where: Place) -> str:
    value, rule = tried[0].fault["input"], _either(list(words(where.kind)))
    if value is None:
        return f"is empty; it must be {rule}, or the key must go"
    if all(each.fault["type"] in _RULES for each in tried):
        return f"{shown(value, where.field)} is {_name(value)}, but it must be {rule}"
    return f"{shown(value, where.field)} does not fit; it must be {rule}"


def _either(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _sentence(found: _Found) -> tuple[Location, str]:
    fault, at = found.fault, found.place.at
    if fault["type"] in {"extra_forbidden", "invalid_key"}:
        # A number as a key, which `dotted` would take for a position in a list.
        key = str(at[-1])
        return (*at[:-1], key), f"this key is unknown; {_meant(found, key)}"
    if fault["type"] in {"union_tag_not_found", "union_tag_invalid"}:
        return _untold(found)
    if fault["loc"][-1:] == (KEY,):
        rule = said(found.place.kind) or "a key of the documented form"
        return (*at[:-1], str(at[-1])), f"this key does not fit; it must be {rule}"
    return at, _of_a_value(fault, found.place)


def _meant(found: _Found, key: str) -> str:
    """Return the keys that belong there as a way out; first where else such a key belongs."""
    known = keys(found.place.above)
    own = re.sub(r"\[[0-9]+\]", "[]", dotted((*found.place.at[:-1], key)))
    elsewhere = [each for each in homes(found.model, key) if each != own]
    if not 0 < len(elsewhere) <= _FEW_HOMES:
        return nearest(key, known)
    told = [each if "." in each else f"{each} at the top" for each in elsewhere]
    return f"did you mean {_either(told)}? known are: {', '.join(sorted(known))}"


def _untold(found: _Found) -> tuple[Location, str]:
    """Return the fault of a mapping in which one key must tell what the others mean, and does not."""
    fault, context = found.fault, found.fault["ctx"]
    key = context["discriminator"].strip("'")
    at = (*found.place.at, key)
    field = field_at(found.model, at)
    if fault["type"] == "union_tag_not_found":
        return at, f"is missing: {_description(field)}; write it{_example(field)}"
    known = context["expected_tags"].replace(", ", " or ")
    return at, f"{shown(fault['input'][key], field)} is not known here; it must be {known}"


def _of_a_value(fault: ErrorDetails, where: Place) -> str:
    kind, value, field = fault["type"], fault["input"], where.field
    context = fault.get("ctx", {})
    blank = isinstance(value, str) and not value.strip() and kind.startswith("string_")
    if kind == "missing" or blank or value is None:
        state = "missing" if kind == "missing" else "empty"
        return f"is {state}: {_description(field)}; write it{_example(field) or _with_keys(where)}"
    text = shown(value, field)
    if kind in _RULES:
        way_out = f"{_quotes(value, kind)}{_example(field) or _with_keys(where)}"
        return f"{text} is {_name(value)}, but it must be {_RULES[kind]}{way_out}"
    if kind in _LIMITS:
        state, least, limit = _LIMITS[kind]
        return f"{text} is {state}; it must be {least} {context[limit]}{_example(field)}"
    if kind in _SAID:
        return f"{text} {_SAID[kind].format(**context)}"
    if kind == "value_error":
        # The keys of a mapping that do not go together: the rule names those that matter.
        return (
            f"{context['error']}"
            if isinstance(value, dict)
            else f"{text} {context['error']}{_example(field)}"
        )
    return f"{text} does not fit; it must be {said(where.kind) or _description(field)}{_example(field)}"


def _quotes(value: object, kind: str) -> str:
    """Return where YAML wants quotes, or none, where a scalar has the wrong type for want of that."""
    if kind == "string_type" and isinstance(value, bool | int | float):
        return " in quotes"
    plain = isinstance(value, str) and _NUMBER.fullmatch(value)
    return " without quotes" if plain and kind in {"int_type", "float_type"} else ""


def _name(value: object) -> str:
    return _NAMES.get(type(value), "a mapping of keys")


def _description(field: FieldInfo | None) -> str:
    return (field.description if field else None) or "a value of the documented form"


def _example(field: FieldInfo | None) -> str:
    return f", for example {_plain(field.examples[0])}" if field and field.examples else ""


def _with_keys(where: Place) -> str:
    if names := required(where.kind):
        return f", with the key{'s' * (len(names) > 1)} {', '.join(names)}"
    names = keys(where.kind)
    return f", with some of the keys {', '.join(names)}" if names else ""


def _plain(example: object) -> str:
    return example if isinstance(example, str) else _text(example)

"""Faults of pydantic models in our own words: the value, the rule, the way out."""

import difflib
import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

Location = tuple[int | str, ...]
"""Keys and list positions from the top of a file to a value."""

_RULES = {
    "int_type": "it must be a whole number",
    "string_type": "it must be text",
    "bool_type": "it must be true or false",
    "dict_type": "it must be a mapping of keys",
    "model_type": "it must be a mapping of keys",
    "tuple_type": "it must be a list",
}
_NAMES = {
    bool: "a truth value (YAML reads an unquoted yes, no, on or off as one)",
    int: "a whole number",
    float: "a decimal number",
    str: "text",
    list: "a list",
}
_LONGEST = 60


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[Location, str]]:
    """Yield where and what for every fault that pydantic found in a value of `model`."""
    for fault in error.errors(include_url=False):
        at = fault["loc"]
        if fault["type"] == "invalid_key":
            # A number as a key, which `dotted` would take for a position in a list.
            at = (*at[:-1], str(at[-1]))
        yield at, _sentence(fault, at, model)


def dotted(at: Location) -> str:
    """Return a location as a person writes it: `machines.hosts`, `packages[2]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_text(part)[1:-1]}" for part in at)
    return "".join(parts).removeprefix(".")


def shown(value: object, field: FieldInfo | None = None) -> str:
    """Return a value for a message, as YAML has it; what may be a secret (`repr=False`) is never shown."""
    if field is not None and not field.repr:
        return "the value there (not shown, it may be a secret)"
    text = _text(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def field_at(model: type[BaseModel], at: Location) -> FieldInfo | None:
    """Return the field of a location, None where the model has none."""
    if not at:
        return None
    field = model.model_fields.get(str(at[0]))
    below = _model_of(field)
    return field_at(below, at[1:]) if below and at[1:] else field


def described(field: FieldInfo | None) -> str:
    """Return what belongs there, for the way out: description and example of a field."""
    return f"{_description(field)}{_example(field)}"


def nearest(word: str, known: list[str]) -> str:
    """Return the known words as a way out, the likely one first: `did you mean hosts? known are: …`."""
    close = difflib.get_close_matches(word, known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"{guess}known are: {', '.join(sorted(known))}"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _sentence(fault: ErrorDetails, at: Location, model: type[BaseModel]) -> str:
    field, kind, value = field_at(model, at), fault["type"], fault["input"]
    limits = fault.get("ctx", {})
    if kind in {"extra_forbidden", "invalid_key"}:
        return f"this key is unknown; {nearest(str(at[-1]), _keys(model, at[:-1]))}"
    if kind == "missing" or value is None:
        state = "missing" if kind == "missing" else "empty"
        return f"is {state}: {_description(field)}; write it{_example(field)}"
    if kind in _RULES:
        return f"{shown(value, field)} is {_name(value)}, but {_RULES[kind]}{_example(field)}"
    if kind == "greater_than_equal":
        return f"{shown(value, field)} is too small; it must be at least {limits['ge']}{_example(field)}"
    if kind == "literal_error":
        return f"{shown(value, field)} is not known here; it must be {limits['expected']}"
    return f"{shown(value, field)} does not fit; it must be {described(field)}"


def _name(value: object) -> str:
    return _NAMES.get(type(value), "a mapping of keys")


def _description(field: FieldInfo | None) -> str:
    return (field.description if field else None) or "a value of the documented form"


def _example(field: FieldInfo | None) -> str:
    return f", for example {field.examples[0]}" if field and field.examples else ""


def _keys(model: type[BaseModel], at: Location) -> list[str]:
    below = _model_of(field_at(model, at)) if at else model
    return list(below.model_fields) if below else []


def _model_of(field: FieldInfo | None) -> type[BaseModel] | None:
    kind: Any = field.annotation if field else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None

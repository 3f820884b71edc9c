"""Values as the engine sends them, and back: unknowns, secrets and whole numbers survive.

The engine speaks `google.protobuf.Struct`. A secret or an output is an object under a signature key; an
unknown is a magic string (facts of the wire: pulumi/sdk `resource/properties.go`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from google.protobuf import struct_pb2
from pydantic import BaseModel, SecretStr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 -- a public constant of the protocol
OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
UNKNOWN: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


@dataclass(frozen=True)
class Secret:
    """A value that must stay marked wherever it goes."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(…)"


def load(fields: struct_pb2.Struct) -> dict[str, Any]:
    """Decode a wire object; secrets are `Secret`, unknowns are the string `UNKNOWN`."""
    return {key: _load(value) for key, value in fields.fields.items()}


def dump(values: Mapping[str, Any]) -> struct_pb2.Struct:
    """Encode an object; `Secret` and `SecretStr` leave marked, models as objects."""
    return struct_pb2.Struct(fields={key: _dump(value) for key, value in values.items()})


def fields_of(model: BaseModel) -> dict[str, Any]:
    """Return the fields of a model, ready for `dump`."""
    return {name: getattr(model, name) for name in type(model).model_fields}


def plain(value: Any) -> Any:
    """Return the value without its secret marks."""
    if isinstance(value, Secret):
        return plain(value.value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def is_unknown(value: Any) -> bool:
    """Tell whether the value is unknown or holds an unknown."""
    return any(leaf == UNKNOWN for leaf in _leaves(value))


def secrets_in(value: Any) -> Iterator[str]:
    """Yield every string under a secret mark."""
    if isinstance(value, Secret):
        yield from (leaf for leaf in _leaves(value.value) if isinstance(leaf, str) and leaf != UNKNOWN)
    elif isinstance(value, SecretStr):
        yield value.get_secret_value()
    else:
        for each in _parts(value):
            yield from secrets_in(each)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, BaseModel):
        value = fields_of(value)
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (list, tuple)):
        yield from value


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Secret):
        yield from _leaves(value.value)
    elif isinstance(value, (dict, list, tuple)):
        for each in _parts(value):
            yield from _leaves(each)
    else:
        yield value


def _load(value: struct_pb2.Value) -> Any:
    match value.WhichOneof("kind"):
        case "struct_value":
            return _load_object(value.struct_value)
        case "list_value":
            return [_load(each) for each in value.list_value.values]
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case _:
            return None


def _load_object(struct: struct_pb2.Struct) -> Any:
    fields = struct.fields
    if SIGNATURE not in fields:
        return load(struct)
    inner = _load(fields["value"]) if "value" in fields else UNKNOWN
    signature = fields[SIGNATURE].string_value
    secret = signature == SECRET or (
        signature == OUTPUT and "secret" in fields and fields["secret"].bool_value
    )
    return Secret(inner) if secret else inner


def _dump(value: Any) -> struct_pb2.Value:
    match value:
        case None:
            wired = struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
        case bool():
            wired = struct_pb2.Value(bool_value=value)
        case int() | float():
            wired = struct_pb2.Value(number_value=value)
        case str():
            wired = struct_pb2.Value(string_value=value)
        case list() | tuple():
            wired = struct_pb2.Value(list_value=struct_pb2.ListValue(values=[_dump(each) for each in value]))
        case _:
            wired = struct_pb2.Value(struct_value=_dump_object(value))
    return wired


def _dump_object(value: Any) -> struct_pb2.Struct:
    match value:
        case Secret():
            return _marked(value.value)
        case SecretStr():
            return _marked(value.get_secret_value())
        case BaseModel():
            return dump(fields_of(value))
        case dict():
            return dump(value)
    raise TypeError(f"{type(value).__name__} has no form on the wire; use str, number, bool, list or dict")


def _marked(value: Any) -> struct_pb2.Struct:
    return struct_pb2.Struct(fields={SIGNATURE: struct_pb2.Value(string_value=SECRET), "value": _dump(value)})

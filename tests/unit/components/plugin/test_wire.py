"""Values survive the wire."""

from typing import Any

from google.protobuf import struct_pb2
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from components.plugin import wire

PRIMITIVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20)
KEYS = st.text(max_size=10).filter(lambda key: key != wire.SIGNATURE)
VALUES = st.recursive(
    PRIMITIVES | st.builds(wire.Secret, PRIMITIVES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


class Model(BaseModel):
    """A model with a secret inside."""

    name: str
    key: SecretStr
    sizes: tuple[int, ...]


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_what_is_dumped_loads_as_it_was(values: dict[str, Any]) -> None:
    assert wire.load(wire.dump(values)) == values


def test_a_whole_number_stays_an_int_and_a_fraction_a_float() -> None:
    loaded = wire.load(wire.dump({"port": 8000, "share": 0.5}))
    assert (loaded, type(loaded["port"])) == ({"port": 8000, "share": 0.5}, int)


def test_a_model_is_an_object_and_its_secret_leaves_marked() -> None:
    model = Model(name="lab-0", key=SecretStr("k-123"), sizes=(1, 2))
    assert wire.load(wire.dump({"m": model})) == {
        "m": {"name": "lab-0", "key": wire.Secret("k-123"), "sizes": [1, 2]}
    }


def test_an_output_without_value_is_unknown_and_a_secret_output_is_secret() -> None:
    def signed(**more: Any) -> struct_pb2.Value:
        struct = struct_pb2.Struct()
        struct.update({wire.SIGNATURE: wire.OUTPUT, **more})
        return struct_pb2.Value(struct_value=struct)

    fields = {"bare": signed(), "plain": signed(value="v"), "secret": signed(value="s", secret=True)}
    assert wire.load(struct_pb2.Struct(fields=fields)) == {
        "bare": wire.UNKNOWN,
        "plain": "v",
        "secret": wire.Secret("s"),
    }


def test_an_unknown_is_found_inside_lists_objects_and_secrets() -> None:
    assert wire.is_unknown({"a": [{"b": wire.Secret(wire.UNKNOWN)}]})
    assert not wire.is_unknown({"a": ["b", 1, None]})


def test_every_string_under_a_secret_mark_is_found() -> None:
    value = {"a": wire.Secret({"b": "one", "c": ["two", 3]}), "d": "open", "e": SecretStr("three")}
    assert set(wire.secrets_in(value)) == {"one", "two", "three"}


def test_a_secret_does_not_show_in_its_repr() -> None:
    assert "k-123" not in repr(wire.Secret("k-123"))

"""The generated keys."""

from components.serving.key import ApiKey, KeyInputs
from tests.factories.run import FakeRun

INPUTS = KeyInputs(fleet="lab-123456", name="api-key-default", serial=1)


def test_every_key_is_new_and_long() -> None:
    keys = {ApiKey().create(INPUTS, FakeRun()).key.get_secret_value() for _ in range(3)}
    assert len(keys) == 3
    assert all(key.startswith("rk-") and len(key) > 40 for key in keys)


def test_keys_of_one_fleet_have_names_of_their_own() -> None:
    other = INPUTS.model_copy(update={"name": "engine-key"})
    assert ApiKey().identity(INPUTS) != ApiKey().identity(other)


def test_a_key_does_not_show() -> None:
    made = ApiKey().create(INPUTS, FakeRun())
    assert made.key.get_secret_value() not in f"{made!r} {made}"


def test_a_look_and_an_update_keep_it() -> None:
    made = ApiKey().create(INPUTS, FakeRun())
    assert ApiKey().read(INPUTS, made, FakeRun()).outputs == made
    assert ApiKey().update(INPUTS, INPUTS, made, FakeRun()) == made


def test_another_serial_makes_another_key_under_the_same_incarnation() -> None:
    made = ApiKey().create(INPUTS, FakeRun())
    rotated = ApiKey().update(INPUTS, INPUTS.model_copy(update={"serial": 2}), made, FakeRun())
    assert rotated.key != made.key
    assert rotated.incarnation == made.incarnation

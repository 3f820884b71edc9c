"""What a bundle by command takes for secret, and what it says of a state."""

from lifecycle.collect import _resources, secrets_in

MARK = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def test_every_text_below_a_secret_of_an_export_is_found() -> None:
    state = {"resources": [
        {"outputs": {"key": {**MARK, "plaintext": '"rk-1"'}, "address": "10.0.0.2"}},
        {"inputs": {"secrets": {**MARK, "plaintext": '{"a": ["one", "two"], "n": 3}'}}},
    ]}  # fmt: skip
    assert list(secrets_in(state)) == ["rk-1", "one", "two"]


def test_a_state_is_told_without_its_values() -> None:
    state = {"deployment": {
        "resources": [{"urn": "u::a", "id": "a/1", "inputs": {"x": "y"}, "initErrors": ["it broke"]}],
        "pending_operations": [{"type": "creating", "resource": {"urn": "u::b"}}],
    }}  # fmt: skip
    assert _resources(state) == "u::a a/1 it broke\nopen: creating u::b\n"

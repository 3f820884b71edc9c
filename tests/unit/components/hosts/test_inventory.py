"""The inventory is strict about hosts and takes no text for a template."""

from collections.abc import Iterator
from typing import Any

from ansible._internal._datatag._tags import TrustedAsTemplate  # type: ignore[import-untyped] # ansible ships no types
from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped] # as above
from hypothesis import given
from hypothesis import strategies as some

from components.hosts.inventory import inventory, known_hosts, literal, openers
from tests.factories.hosts import KEY, host, jump

TEXT = some.text(some.characters(exclude_categories=["Cs"]))
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | TEXT,
    lambda inner: some.lists(inner) | some.dictionaries(TEXT, inner),
    max_leaves=8,
)


def test_hosts_stand_in_rank_order_with_their_own_variables() -> None:
    hosts = [host("b", address="10.0.0.2"), host("a", user="ops", port=2222)]
    group = inventory(hosts, {"x": 1}, {"a": {"serve_rank": 1}}, "/run/k")["all"]["children"]["fleet"]
    assert list(group["hosts"]) == ["b", "a"]
    assert group["vars"] == {"x": 1}
    assert group["hosts"]["b"]["ansible_host"] == "10.0.0.2"
    assert not group["hosts"]["b"]["ansible_become"]
    assert group["hosts"]["a"]["ansible_become"]
    assert group["hosts"]["a"]["ansible_port"] == 2222
    assert group["hosts"]["a"]["serve_rank"] == 1


def test_ssh_accepts_the_known_keys_and_asks_nobody() -> None:
    options = inventory([host()], {}, {}, "/run/k")["all"]["children"]["fleet"]["hosts"]["a"]
    text = options["ansible_ssh_common_args"]
    for option in ("StrictHostKeyChecking=yes", "BatchMode=yes", "IdentitiesOnly=yes", "ConnectTimeout=10"):
        assert f"-o {option}" in text
    assert "-o UserKnownHostsFile=/run/k/known_hosts" in text
    assert "ProxyCommand" not in text


def test_a_host_cannot_be_redirected_by_its_variables() -> None:
    variables = {"a": {"ansible_host": "elsewhere"}}
    members = inventory([host()], {}, variables, "/k")["all"]["children"]["fleet"]["hosts"]
    assert members["a"]["ansible_host"] == "127.0.0.1"


def test_a_jump_host_is_known_apart_from_what_is_behind_it() -> None:
    gate = jump(address="10.0.0.2")  # the address of another machine behind it
    files = known_hosts([host("a", address="10.0.0.2", jump=gate), host("b", address="10.0.0.3", jump=gate)])
    assert files == {
        "known_hosts": f"10.0.0.2 {KEY}\n10.0.0.3 {KEY}\n",
        "known_jumps": f"10.0.0.2 {KEY}\n",
    }


def test_each_jump_host_has_one_connection_that_those_behind_it_share() -> None:
    near, far = jump(), jump(address="192.0.2.2")
    hosts = [host("a", jump=near), host("b"), host("c", jump=far), host("d", jump=near)]
    commands = openers(hosts, "/run/k")
    assert [command[-1] for command in commands] == ["ops@192.0.2.1", "ops@192.0.2.2"]
    assert [_socket(command) for command in commands] == ["/run/k/jump-0", "/run/k/jump-1"]
    members = inventory(hosts, {}, {}, "/run/k")["all"]["children"]["fleet"]["hosts"]
    texts = {name: member["ansible_ssh_common_args"] for name, member in members.items()}
    assert {name: "/run/k/jump-0" in text for name, text in texts.items()} == {
        "a": True, "b": False, "c": False, "d": True
    }  # fmt: skip
    assert "/run/k/jump-1" in texts["c"]


@given(some.dictionaries(TEXT, JSON))
def test_every_value_arrives_as_it_is_and_none_is_a_template(values: dict[str, Any]) -> None:
    read = loaded(literal(values))
    assert native(read) == values
    assert not list(templates(read))


def test_without_the_tag_texts_are_templates() -> None:
    assert list(templates(loaded('{"a": "x"}'))) == ["x"]


def loaded(text: str) -> Any:
    """Read a file's text as Ansible does."""
    return DataLoader().load(TrustedAsTemplate().tag(text))


def native(value: Any) -> Any:
    """Return a value as Python's own types, so that "1" and 1 differ."""
    if isinstance(value, dict):
        return {str(key): native(item) for key, item in value.items()}
    return [native(item) for item in value] if isinstance(value, list) else value


def templates(value: Any) -> Iterator[str]:
    """Yield the texts that Ansible would take for templates."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from templates(item)
    elif isinstance(value, str) and TrustedAsTemplate.is_tagged_on(value):
        yield value


def _socket(command: list[str]) -> str:
    (path,) = [word for word in command if word.startswith("ControlPath=")]
    return path.removeprefix("ControlPath=")

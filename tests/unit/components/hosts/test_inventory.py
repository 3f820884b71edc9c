"""The inventory is strict about hosts and takes no text for a template."""

from collections.abc import Iterator
from typing import Any

from ansible._internal._datatag._tags import TrustedAsTemplate  # type: ignore[import-untyped] # ansible ships no types
from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped] # as above
from hypothesis import given
from hypothesis import strategies as some

from components.hosts.inventory import inventory, known_hosts, literal
from tests.factories.hosts import KEY, host

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
    options = inventory([host()], {}, {}, "/run/my keys")["all"]["children"]["fleet"]["hosts"]["a"]
    text = options["ansible_ssh_common_args"]
    for option in ("StrictHostKeyChecking=yes", "BatchMode=yes", "IdentitiesOnly=yes", "ConnectTimeout=10"):
        assert f"-o {option}" in text
    assert "-o 'UserKnownHostsFile=/run/my keys'" in text


def test_a_host_cannot_be_redirected_by_its_variables() -> None:
    variables = {"a": {"ansible_host": "elsewhere"}}
    members = inventory([host()], {}, variables, "/k")["all"]["children"]["fleet"]["hosts"]
    assert members["a"]["ansible_host"] == "127.0.0.1"


def test_known_hosts_name_the_port_where_it_is_not_the_usual_one() -> None:
    assert known_hosts([host(), host("b", port=2201)]) == f"127.0.0.1 {KEY}\n[127.0.0.1]:2201 {KEY}\n"


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

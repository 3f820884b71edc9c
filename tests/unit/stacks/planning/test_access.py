"""Who reaches a fleet, by default and by hand."""

from typing import Any

import pytest

from stacks.planning import plan
from stacks.planning.access import PORT, collapsed, open_to_all, people, within
from stacks.planning.plan import FleetPlan
from stacks.planning.reach import AccessPlan
from tests.factories.stacks import NAMES, catalog, config, planned
from tests.unit.stacks.planning.test_planner import EPHEMERAL
from tests.unit.stacks.planning.test_rules import changed

RANGE = 1000
"""Ports from `internal` on that the engine may try."""


def access(stack: str, **changes: Any) -> AccessPlan:
    return planned(stack, {f"access.{name}": value for name, value in changes.items()}).access


@pytest.mark.parametrize("stack", NAMES)
def test_the_gateways_port_is_nobody_elses(stack: str) -> None:
    fleet = planned(stack)
    assert PORT not in EPHEMERAL
    assert PORT not in set(ports(fleet))


def ports(fleet: FleetPlan) -> list[int]:
    found = []
    for group in fleet.groups:
        own, seats = group.ports, max(len(rank.seats) for rank in group.ranks)
        found += [own.http, own.rendezvous, own.data_parallel, *range(own.internal, own.internal + RANGE)]
        # The side channel takes a port for each rank.
        found += (
            range(own.side_channel, own.side_channel + group.parallel.gpus + seats)
            if own.side_channel
            else ()
        )
    return found


@pytest.mark.parametrize("stack", NAMES)
def test_a_shipped_stack_lets_nobody_in_from_outside(stack: str) -> None:
    found = planned(stack).access
    assert set(found.sources) | set(found.operators) <= {"operator"}
    assert (found.tls, found.metrics, found.host) == ("own-ca", (), planned(stack).head.host)


def test_without_a_word_the_gateway_is_private() -> None:
    bare = access("kimi-k3-gb300")
    assert bare.private
    assert bare.operators == ()
    assert bare.url("10.0.0.1") == "https://localhost:8443/v1"
    assert [key.model_dump() for key in bare.keys] == [{"name": "default", "secret": None, "serial": 1}]


def test_the_lab_lets_in_the_machine_that_made_it() -> None:
    assert access("lab").operators == ("operator",)
    assert access("lab", operators=["10.0.0.9"]).operators == ("10.0.0.9/32",)


@pytest.mark.parametrize(
    ("changes", "url"),
    [
        ({"sources": ["10.20.0.0/16"]}, "https://10.0.0.1:8443/v1"),
        ({"sources": ["10.20.0.0/16"], "name": "k3.example.org"}, "https://k3.example.org:8443/v1"),
        ({"name": "k3.example.org"}, "https://localhost:8443/v1"),
        ({"tls": "off"}, "http://localhost:8443/v1"),
    ],
)
def test_the_url_is_the_one_that_clients_use(changes: dict[str, Any], url: str) -> None:
    assert access("kimi-k3-gb300", **changes).url("10.0.0.1") == url


def test_a_given_certificate_is_named_by_its_secrets() -> None:
    tls = {"certificate": "certificate", "key": "certificateKey"}
    found = access("kimi-k3-gb300", tls=tls, name="k3.example.org", sources=["10.20.0.0/16"])
    assert (found.tls, found.certificate, found.certificate_key) == ("given", "certificate", "certificateKey")


def test_keys_are_passed_on_by_the_names_of_their_secrets() -> None:
    found = access("lab", keys=[{"name": "a", "secret": "apiKey"}, {"name": "b", "serial": 3}])
    assert [(key.name, key.secret, key.serial) for key in found.keys] == [("a", "apiKey", 1), ("b", None, 3)]


def test_only_what_a_model_documents_is_let_through() -> None:
    own = {(route.method, route.path) for route in access("lab").routes}
    assert own == {
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/completions"),
        ("GET", "/v1/models"),
        ("GET", "/health"),
    }
    more = with_routes("/v1/responses", "/v1/embeddings")
    assert {(route.method, route.path) for route in more.routes} - own == {
        ("POST", "/v1/responses"),
        ("POST", "/v1/embeddings"),
    }


def with_routes(*routes: str) -> AccessPlan:
    known = changed({"models/lab-qwen3/facts/endpoint/routes": routes})
    return plan(config("lab"), known, "lab").access


@pytest.mark.parametrize("stack", NAMES)
def test_nobody_who_waits_as_documented_is_cut_off(stack: str) -> None:
    fleet = planned(stack)
    assert fleet.access.limits.idle >= fleet.endpoint.timeout
    assert fleet.access.limits.idle >= 219, "measured: the first completion of two busy cores"
    assert fleet.access.limits.total > fleet.access.limits.idle


def test_the_longest_text_that_any_model_takes_passes() -> None:
    """Four bytes of text to a token."""
    longest = max(model.facts.context.longest for model in catalog().models.values())
    assert 4 * longest < access("lab").limits.body_mib * 2**20 / 8, "and there is room for pictures"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ((), ()),
        (("10.1.0.0/16", "operator", "10.0.0.0/8"), ("operator", "10.0.0.0/8")),
        (("10.0.0.1/32", "10.0.0.1/32"), ("10.0.0.1/32",)),
        (("0.0.0.0/1", "fd00::/8", "128.0.0.0/1"), ("0.0.0.0/0", "fd00::/8")),
    ],
)
def test_no_network_is_named_twice(written: tuple[str, ...], meant: tuple[str, ...]) -> None:
    assert collapsed(written) == meant


def test_networks_hold_each_other_within_their_family_only() -> None:
    assert within("10.1.0.0/16", ["operator", "10.0.0.0/8"])
    assert not within("10.0.0.0/8", ["10.1.0.0/16"])
    assert not within("::/128", ["0.0.0.0/0"])


def test_open_to_all_is_all_addresses_of_one_family() -> None:
    assert open_to_all(["operator", "::/0"])
    assert not open_to_all(["operator", "0.0.0.0/1"])


def test_people_are_named() -> None:
    assert people(["operator", "10.0.0.0/8"]) == "the machine that runs `up`, 10.0.0.0/8"
    assert people([]) == "nobody"

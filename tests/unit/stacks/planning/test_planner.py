"""What the plan holds beside the commands."""

from typing import Any

import pytest

from stacks.catalog import Catalog
from stacks.config import parse
from stacks.planning import FleetPlan, plan
from stacks.report import entrance
from tests.factories.hosts import ECDSA, KEY, KEY2
from tests.factories.stacks import NAMES, planned
from tests.unit.stacks.cases import fleet

WIDE = {"tensor_parallel": 4, "data_parallel": 4, "expert_parallel": True}
EPHEMERAL = range(32768, 61000)
"""Linux's default `net.ipv4.ip_local_port_range`."""


@pytest.mark.parametrize("stack", NAMES)
def test_each_shipped_stack_can_be_planned(stack: str) -> None:
    assert planned(stack).ranks


def test_ports_are_distinct_and_outside_the_ephemeral_range(two_hosts: FleetPlan) -> None:
    ports = two_hosts.ports
    assert len({ports.http, ports.rendezvous, ports.internal}) == 3
    assert not {ports.http, ports.rendezvous, *range(ports.internal, ports.internal + 1000)} & set(EPHEMERAL)


def test_ranks_share_no_core(catalog: Catalog) -> None:
    wide = plan(parse(fleet({"set": {"machines.cpus": 3}}), "test"), catalog, "lab")
    assert [(rank.host, rank.core) for rank in wide.ranks] == [("host-0", 0), ("host-1", 3)]


def test_deadlines_grow_with_the_bytes(two_hosts: FleetPlan) -> None:
    assert two_hosts.budget.model_dump() == {
        "prepare": 300.0,
        "access": 900.0,
        "engine": 4000 / 20 + 300,
        "checkpoint": 2 / 20 + 300,
        "serve": 300.0,
        "ready": 2 / 50 + 600,
        "start": 600.0,
        "read": 50 * 2**20,
    }


def test_what_keeps_up_from_starting_is_said() -> None:
    assert planned("lab").missing == ()
    hosts, identity, mirror, driver, operators, pins, router = planned("kimi-k3-gb300-pd").missing
    assert hosts == (
        "machines.hosts lists none of 6 machines; add tray-0 to tray-5, each with address and host_key"
    )
    assert identity.startswith("machines.identity is not given; write the path of the private key")
    assert mirror.startswith("machines.mirror is not given; write the base URL")
    assert driver.startswith("machines.driver does not say which driver")
    assert operators.startswith("access.operators lists nobody, and SSH to the machines will be closed")
    assert "1 pin is missing" in pins
    assert "router" in router


HOSTS = [
    {"address": "10.20.0.11", "host_key": KEY},
    {"name": "second", "address": "10.20.0.12", "host_key": KEY2, "user": "ubuntu"},
]
SITE = {
    "machines.driver": "580.126.20",
    "machines.identity": "~/.ssh/fleet",
    "machines.mirror": "http://10.20.0.2",
}


def test_machines_that_are_listed_have_their_place_in_the_plan() -> None:
    fleet = planned("kimi-k3-gb300", {"machines.hosts": HOSTS, **SITE})
    assert [host.name for host in fleet.hosts] == ["tray-0", "second"]
    assert [host.listed.user for host in fleet.hosts if host.listed] == ["root", "ubuntu"]
    assert [rank.host for rank in fleet.ranks] == ["tray-0", "second"]
    assert fleet.access.host == "tray-0"
    assert fleet.claims
    assert fleet.claims.keep == ("checkpoint", "drivers")
    assert not [each for each in fleet.missing if each.startswith("machines.")]


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (1, "machines.hosts lists 1 of 2 machines; add tray-1, with address and host_key"),
        (2, ""),
        (3, "machines.hosts lists 3 machines, and the plan takes 2; drop third"),
    ],
)
def test_too_few_or_too_many_machines_keep_up_from_starting(listed: int, said: str) -> None:
    third = {"name": "third", "address": "10.20.0.13", "host_key": ECDSA}
    fleet = planned("kimi-k3-gb300", {"machines.hosts": [*HOSTS, third][:listed], **SITE})
    assert [each for each in fleet.missing if each.startswith("machines.")] == [said] * bool(said)


@pytest.mark.parametrize(
    ("stack", "changes", "router"),
    [
        ("kimi-k3-gb300-dep16", {}, "in front of the 4 API servers"),
        ("kimi-k3-gb300-dep16", {"flags.data-parallel-hybrid-lb": False}, None),
        ("kimi-k3-gb300-pd", {"flags.data-parallel-hybrid-lb": False}, "to prefill and then to decode"),
        ("qwen38-gb300-fp8", {"layout": WIDE}, None),
        (
            "qwen38-gb300-fp8",
            {"layout": WIDE, "flags.data-parallel-hybrid-lb": True},
            "in front of the 4 API servers",
        ),
    ],
)
def test_a_router_is_missing_where_several_ranks_serve(
    stack: str, changes: dict[str, Any], router: str | None
) -> None:
    fleet = planned(stack, changes)
    told = [each for each in fleet.missing if "role" in each]
    assert [each.endswith(str(router)) for each in told] == ([True] if router else [])
    assert (entrance(fleet) is None) == (router is not None)


@pytest.mark.parametrize("stack", NAMES)
def test_each_unpinned_thing_says_why(stack: str) -> None:
    assert all(pin.what and pin.why for pin in planned(stack).unpinned)


def test_machines_that_share_one_folder_may_fetch_into_it() -> None:
    wanted = {"machines.hosts": HOSTS, **SITE, "machines.storage": {"nfs": "10.20.0.5:/models"}}
    assert not any("storage" in each for each in planned("kimi-k3-gb300", wanted).missing)

"""The variables of the playbooks, for a fleet of two hosts from the stand-in catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from components.hosts.variables import Site, host_variables, variables
from stacks import planning
from stacks.catalog import load
from stacks.config import parse
from tests.factories.stacks import planned
from tests.unit.stacks.cases import CASES, FLEET

if TYPE_CHECKING:
    from collections.abc import Mapping

ADDRESSES = {"host-0": "10.0.0.1", "host-1": "10.0.0.2"}
SITE = Site("http://10.0.0.9", ADDRESSES, "PEM")


@pytest.fixture(scope="module")
def plan() -> planning.FleetPlan:
    return planning.plan(parse(FLEET, "stacks/Pulumi.lab.yaml"), load(CASES / "catalog"), "lab")


def test_urls_are_below_the_mirror_with_or_without_a_slash_at_its_end(plan: planning.FleetPlan) -> None:
    for mirror in ("http://10.0.0.9", "http://10.0.0.9/"):
        site = Site(mirror, {}, "")
        assert variables(plan, "engine", site)["engine_wheels_url"] == "http://10.0.0.9/wheels/"
        url = variables(plan, "checkpoint", site)["checkpoint_url"]
        assert url == f"http://10.0.0.9/checkpoints/{plan.checkpoint.name}/{plan.checkpoint.revision}/"


def test_a_host_is_asked_for_what_the_plan_needs(plan: planning.FleetPlan) -> None:
    asked = variables(plan, "prepare", SITE)
    assert asked["prepare_memory_mib"] == -(-plan.groups[0].memory.needed // 2**20)
    own = host_variables(plan, "prepare", ADDRESSES)
    assert [sum(own[host.name]["prepare_brought"].values()) for host in plan.hosts] == [plan.disk_mib] * 2


def test_every_rank_gets_its_command_and_ports(plan: planning.FleetPlan) -> None:
    ranks = host_variables(plan, "serve", ADDRESSES)
    assert list(ranks) == ["host-0", "host-1"]
    commands = planning.commands(plan, ADDRESSES)
    assert [tuple(each["serve_argv"]) for each in ranks.values()] == [each.argv for each in commands]
    assert ranks["host-0"]["serve_ports"] == [plan.ports.http, plan.ports.rendezvous, plan.ports.internal]
    assert ranks["host-1"]["serve_ports"] == [plan.ports.internal]


def test_a_rank_gets_what_only_its_host_could_tell_unless_the_plan_says_it(plan: planning.FleetPlan) -> None:
    own = {"host-1": {"NCCL_SOCKET_IFNAME": "=ens1", "VLLM_HOST_IP": "192.168.0.1"}}
    ranks = host_variables(plan, "serve", ADDRESSES, own)
    assert "NCCL_SOCKET_IFNAME" not in ranks["host-0"]["serve_env"]
    assert ranks["host-1"]["serve_env"]["NCCL_SOCKET_IFNAME"] == "=ens1"
    assert ranks["host-1"]["serve_env"]["VLLM_HOST_IP"] == "10.0.0.2"


@pytest.mark.parametrize("playbook", ["engine", "checkpoint"])
def test_all_other_playbooks_treat_hosts_alike(plan: planning.FleetPlan, playbook: str) -> None:
    assert host_variables(plan, playbook, ADDRESSES) == {}


def test_an_unknown_playbook_is_a_mistake_of_the_program(plan: planning.FleetPlan) -> None:
    with pytest.raises(ValueError, match="no playbook 'dance'"):
        variables(plan, "dance", SITE)


def test_the_firewall_knows_members_operators_and_sources(plan: planning.FleetPlan) -> None:
    open_plan = _with(plan, sources=("10.20.0.0/16", "operator"), operators=("operator",))
    told = variables(open_plan, "access", SITE)
    assert {name: value for name, value in told.items() if name.startswith("firewall_")} == {
        "firewall_members": ["10.0.0.1", "10.0.0.2"],
        "firewall_operators": ["operator"],
        "firewall_sources": ["10.20.0.0/16", "operator"],
        "firewall_gateway_port": 8443,
    }


def test_the_gateway_knows_its_routes_limits_and_keys_by_name(plan: planning.FleetPlan) -> None:
    told = variables(plan, "access", SITE)
    assert told["gateway_host"] == "host-0"
    assert told["gateway_tls"] is True
    assert told["gateway_certificate"] == "PEM"
    assert {"method": "POST", "path": "/v1/chat/completions"} in told["gateway_routes"]
    assert told["gateway_key_names"] == ["default"]
    limits = plan.access.limits
    assert told["gateway_body_mib"] == limits.body_mib
    assert (told["gateway_idle_seconds"], told["gateway_total_seconds"]) == (limits.idle, limits.total)
    assert variables(_with(plan, tls="off"), "access", SITE)["gateway_tls"] is False


@pytest.mark.parametrize(
    ("gateway", "upstream", "guarded"),
    [("host-0", "127.0.0.1:8000", [8000]), ("host-1", "10.0.0.1:8000", [])],
    ids=["beside the engine", "elsewhere"],
)
def test_the_gateway_asks_where_the_engine_listens(
    plan: planning.FleetPlan, gateway: str, upstream: str, guarded: list[int]
) -> None:
    moved = _with(plan, host=gateway, sources=("10.20.0.0/16",))
    assert variables(moved, "access", SITE)["gateway_upstream"] == upstream
    hosts = host_variables(moved, "access", ADDRESSES)
    assert hosts.pop(gateway) == {
        "firewall_is_gateway": True,
        "firewall_guarded_ports": guarded,
        "gateway_listen": ["127.0.0.1", ADDRESSES[gateway]],
    }
    [other] = hosts.values()
    assert other == {"firewall_is_gateway": False, "firewall_guarded_ports": []}


def test_a_private_gateway_listens_on_loopback_alone(plan: planning.FleetPlan) -> None:
    hosts = host_variables(_with(plan, sources=()), "access", ADDRESSES)
    assert hosts["host-0"]["gateway_listen"] == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("stack", "changes", "keeps"),
    [
        ("lab", {}, False),
        ("kimi-k3-gb300", {}, True),
        ("kimi-k3-gb300", {"machines.keep": ["drivers"]}, False),
    ],
)
def test_checkpoints_are_kept_on_machines_that_stay(
    stack: str,
    changes: dict[str, Any],
    keeps: bool,  # noqa: FBT001 -- a case
) -> None:
    plan = planned(stack, changes)
    told = [variables(plan, each, SITE) for each in ("prepare", "checkpoint")]
    assert (told[0]["prepare_keep_checkpoints"], told[1]["checkpoint_keep"]) == (keeps, keeps)


def test_on_gpus_nobody_says_how_much_memory_a_host_needs() -> None:
    assert variables(planned("kimi-k3-gb300"), "prepare", SITE)["prepare_memory_mib"] == 0


@pytest.mark.parametrize("stack", ["kimi-k3-gb300", "lab"])
def test_a_shipped_stack_has_variables_for_its_door(stack: str) -> None:
    shipped = planned(stack)
    addresses: Mapping[str, str] = {host.name: host.name for host in shipped.hosts}
    assert variables(shipped, "access", Site("", addresses, ""))["gateway_upstream"] == "127.0.0.1:8000"
    assert list(host_variables(shipped, "access", addresses)) == list(addresses)


def _with(plan: planning.FleetPlan, **access: Any) -> planning.FleetPlan:
    return plan.model_copy(update={"access": plan.access.model_copy(update=access)})

"""The variables of the four playbooks, for a fleet of two hosts from the stand-in catalog."""

import pytest

from components.hosts.variables import host_variables, variables
from stacks import planning
from stacks.catalog import load
from stacks.config import parse
from tests.unit.stacks.cases import CASES, FLEET

ADDRESSES = {"host-0": "10.0.0.1", "host-1": "10.0.0.2"}


@pytest.fixture(scope="module")
def plan() -> planning.FleetPlan:
    return planning.plan(parse(FLEET, "stacks/Pulumi.lab.yaml"), load(CASES / "catalog"), "lab")


def test_urls_are_below_the_mirror_with_or_without_a_slash_at_its_end(plan: planning.FleetPlan) -> None:
    for mirror in ("http://10.0.0.9", "http://10.0.0.9/"):
        assert variables(plan, "engine", mirror)["engine_wheels_url"] == "http://10.0.0.9/wheels/"
        url = variables(plan, "checkpoint", mirror)["checkpoint_url"]
        assert url == f"http://10.0.0.9/checkpoints/{plan.checkpoint.name}/{plan.checkpoint.revision}/"


def test_a_host_is_asked_for_what_the_plan_needs(plan: planning.FleetPlan) -> None:
    asked = variables(plan, "prepare", "http://m")
    assert asked["prepare_memory_mib"] == -(-plan.groups[0].memory.needed // 2**20)
    assert asked["prepare_disk_mib"] == plan.disk_mib


def test_every_rank_gets_its_command_and_ports(plan: planning.FleetPlan) -> None:
    ranks = host_variables(plan, "serve", ADDRESSES)
    assert list(ranks) == ["host-0", "host-1"]
    commands = planning.commands(plan, ADDRESSES)
    assert [tuple(each["serve_argv"]) for each in ranks.values()] == [each.argv for each in commands]
    assert ranks["host-0"]["serve_ports"] == [plan.ports.http, plan.ports.rendezvous, plan.ports.internal]
    assert ranks["host-1"]["serve_ports"] == [plan.ports.internal]


@pytest.mark.parametrize("playbook", ["prepare", "engine", "checkpoint"])
def test_only_serve_tells_hosts_apart(plan: planning.FleetPlan, playbook: str) -> None:
    assert host_variables(plan, playbook, ADDRESSES) == {}


def test_an_unknown_playbook_is_a_mistake_of_the_program(plan: planning.FleetPlan) -> None:
    with pytest.raises(ValueError, match="no playbook 'dance'"):
        variables(plan, "dance", "http://m")

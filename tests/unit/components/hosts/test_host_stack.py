"""The variables of the roles below the engine: what each machine is given, and what does not concern it."""

from __future__ import annotations

import pytest
import yaml

from components.hosts import host_stack, roles
from components.hosts.playbook import PLAYBOOKS
from components.hosts.variables import Site, host_variables, variables
from components.readiness.gates.planned import wants
from tests.factories.hosts import KEY, KEY2
from tests.factories.stacks import planned

DRIVER = {"machines.driver": "580.126.20"}


@pytest.mark.parametrize("stack", ["kimi-k3-gb300", "kimi-k3-b200", "qwen38-gb300-fp8-pp3"])
def test_every_role_of_the_plan_has_all_that_it_requires(stack: str) -> None:
    plan = planned(stack, DRIVER)
    addresses = {host.name: f"10.0.0.{number}" for number, host in enumerate(plan.hosts)}
    given = variables(plan, "prepare", Site("", {}, ""))
    for host in plan.hosts:
        own = given | host_variables(plan, "prepare", addresses).get(host.name, {})
        for role in given["host_stack_roles"]:
            specs = yaml.safe_load((PLAYBOOKS / "roles" / role / "meta/argument_specs.yml").read_text())
            options = specs["argument_specs"]["main"]["options"]
            required = {name for name, facts in options.items() if facts.get("required")}
            assert required - set(own) == set(), role


def test_all_trays_of_a_domain_are_given_the_same_list_in_rank_order() -> None:
    plan = planned("qwen38-gb300-fp8-pp3", DRIVER)
    addresses = {"tray-0": "10.0.0.9", "tray-1": "10.0.0.10", "tray-2": "10.0.0.2"}
    own = host_stack.of_hosts(plan, addresses)
    assert [own[name]["imex_nodes"] for name in addresses] == [["10.0.0.9", "10.0.0.10", "10.0.0.2"]] * 3
    assert {name: each["imex_address"] for name, each in own.items()} == addresses


def test_only_the_devices_that_are_listed_count_on_rdma() -> None:
    hosts = [
        {"address": "10.20.0.11", "host_key": KEY, "nics": ["mlx5_0", "mlx5_1"]},
        {"address": "10.20.0.12", "host_key": KEY2},
    ]
    plan = planned("kimi-k3-b200", DRIVER | {"machines.hosts": hosts})
    addresses = {"node-0": "10.20.0.11", "node-1": "10.20.0.12"}
    own = host_variables(plan, "prepare", addresses)
    assert {name: each["rdma_nics"] for name, each in own.items()} == {
        "node-0": ["mlx5_0", "mlx5_1"],
        "node-1": [],
    }
    assert wants(plan, addresses).nics == {"node-0": ["mlx5_0", "mlx5_1"]}


def test_the_lab_is_given_nothing_and_sees_no_file_of_these_roles() -> None:
    plan = planned("lab")
    assert host_stack.of_fleet(plan) == host_stack.of_hosts(plan, {}) == {}
    assert "host_stack_roles" not in variables(plan, "prepare", Site("", {}, ""))
    assert set(roles.digests("prepare", host_stack.unused(plan))) == {"lock", "prepare", "plugins"}


def test_only_the_roles_of_a_plan_count() -> None:
    digests = roles.digests("prepare", host_stack.unused(planned("kimi-k3-gb300", DRIVER)))
    assert {"imex", "nvidia_driver", "packages", "settle", "reboot"} <= set(digests)
    assert {"fabric_manager", "rdma"} & set(digests) == set()
    assert set(host_stack.ROLES) | set(host_stack.SHARED) <= set(roles.digests("prepare"))


def test_a_plan_without_a_driver_can_be_shown() -> None:
    plan = planned("kimi-k3-gb300")
    assert any(each.startswith("machines.driver does not say") for each in plan.missing)
    assert host_stack.of_fleet(plan)["nvidia_driver_release"] == ""


@pytest.mark.parametrize(("kept", "stays"), [(["checkpoint"], False), (["checkpoint", "drivers"], True)])
def test_destroy_leaves_the_drivers_where_the_stack_keeps_them(kept: list[str], stays: bool) -> None:  # noqa: FBT001 -- a case
    told = host_stack.of_fleet(planned("kimi-k3-gb300", DRIVER | {"machines.keep": kept}))
    assert told["packages_keep"] is stays

"""What shipped stacks want of their hosts, and that hosts which are well satisfy them."""

from __future__ import annotations

import pytest

from components.readiness.gates.judge import judge
from components.readiness.gates.planned import exchanges, wants
from tests.factories.sights import sights
from tests.factories.stacks import NAMES, catalog, planned


@pytest.mark.parametrize("stack", [name for name in NAMES if planned(name).gated])
def test_hosts_that_are_well_pass_the_gates_of_every_stack_over_nvlink_or_rdma(stack: str) -> None:
    plan = planned(stack)
    wanted = wants(plan, {host.name: f"10.0.0.{number}" for number, host in enumerate(plan.hosts, 1)})
    verdict = judge(sights(wanted, {}), wanted, catalog().fabrics)
    assert [each.sentence for each in verdict.refused] == []
    assert set(verdict.environment) == (set(wanted.hosts) if len(wanted.hosts) > 1 else set())


def test_two_trays_are_one_domain_and_two_nodes_are_none() -> None:
    trays, nodes = planned("kimi-k3-gb300"), planned("kimi-k3-b200")
    over_nvlink = wants(trays, {host.name: host.name for host in trays.hosts})
    over_rdma = wants(nodes, {host.name: host.name for host in nodes.hosts})
    assert over_nvlink.domain == over_nvlink.hosts
    assert over_rdma.domain == ()
    assert (over_nvlink.links, over_nvlink.link_rate, over_rdma.links) == (18, 53.125, None)
    assert (over_nvlink.engines[0].spans, over_rdma.engines[0].spans) == (True, False)


def test_the_driver_is_the_pinned_one_and_its_floor_that_of_engine_and_accelerators() -> None:
    plan = planned("kimi-k3-gb300", {"machines.driver": "580.126.20"})
    wanted = wants(plan, {host.name: host.name for host in plan.hosts})
    assert plan.host_stack
    assert (wanted.driver, wanted.driver_floor) == ("580.126.20", plan.host_stack.driver_floor)


def test_the_share_of_memory_is_the_engines_own() -> None:
    plan = planned("kimi-k3-gb300")
    [share] = [
        option.value for option in plan.groups[0].options if option.name == "gpu-memory-utilization"
    ] or [0.92]
    wanted = wants(plan, {host.name: host.name for host in plan.hosts})
    assert wanted.share == pytest.approx(share, abs=1e-6)


def test_lab_and_other_vendors_have_no_gates() -> None:
    plan = planned("lab")
    assert not plan.gated
    assert not planned("kimi-k3-mi355x").gated
    with pytest.raises(ValueError, match="there are no gates for lab host on this machine over Ethernet"):
        wants(plan, {})


def test_a_host_asks_for_the_route_to_the_head_and_the_head_for_the_next() -> None:
    plan = planned("kimi-k3-b200")
    one, other = (host.name for host in plan.hosts)
    wanted = wants(plan, {one: "10.0.0.1", other: "10.0.0.2"})
    assert (wanted.peer(one), wanted.peer(other)) == ("10.0.0.2", "10.0.0.1")


def test_every_gpu_of_an_engine_takes_part_in_its_exchange() -> None:
    plan = planned("kimi-k3-gb300-pd")
    names = {host.name: host.name for host in plan.hosts}
    found = exchanges(plan, names, {"tray-0": {"GLOO_SOCKET_IFNAME": "eth0"}})
    assert [each.engine for each in found] == [group.name for group in plan.groups]
    for each, group in zip(found, plan.groups, strict=True):
        assert (each.backend, each.world, each.address) == ("nccl", group.parallel.gpus, group.head.host)
        assert [member.first for member in each.members] == [4 * rank for rank in range(len(each.members))]
    assert found[0].members[0].environment["GLOO_SOCKET_IFNAME"] == "eth0"


def test_a_rank_alone_has_nobody_to_exchange_with() -> None:
    plan = planned("kimi-k3-gb300")
    [group] = plan.groups
    alone = group.parallel.model_copy(update={"tensor_parallel": 1})
    plan = plan.model_copy(update={"groups": (group.model_copy(update={"parallel": alone}),)})
    assert exchanges(plan, {host.name: host.name for host in plan.hosts}, {}) == []

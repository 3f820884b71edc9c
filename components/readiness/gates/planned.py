"""From a plan to what it wants to see. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from components.readiness.gates.trial import Exchange, Member
from components.readiness.gates.wants import Engine, Wants
from stacks.planning.commands import commands, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stacks.planning.plan import EngineGroup, FleetPlan

USER: Final = "rackstack"
"""The user of the unit, as the role serve writes it."""


def wants(plan: FleetPlan, addresses: Mapping[str, str]) -> Wants:
    """Return what a plan wants to see.

    Args:
        plan: A fleet over NVLink or RDMA.
        addresses: Host name → address that the other members reach.
    """
    if not plan.gated:
        raise ValueError(
            f"{plan.stack}: there are no gates for {plan.machine.title} over {plan.fabric.title}"
        )
    links, below = plan.machine.nvlinks, plan.host_stack
    return Wants(
        fabric="nvlink" if plan.fabric.kind == "nvlink" else "rdma",
        addresses={host.name: addresses[host.name] for host in plan.hosts},
        engines=[_engine(group, plan.machine.gpus) for group in plan.groups],
        gpus=plan.machine.gpus,
        driver=below.driver if below else None,
        driver_floor=below.driver_floor if below else None,
        links=links.count if links else None,
        link_rate=links.rate if links else None,
        share=max(group.memory.usable / group.memory.capacity for group in plan.groups),
        user=USER,
        nics={host.name: list(host.nics) for host in plan.hosts if host.nics},
        cliques={
            host.name: host.listed.place.clique
            for host in plan.hosts
            if host.listed and host.listed.place and host.listed.place.clique is not None
        },
    )


def exchanges(
    plan: FleetPlan, addresses: Mapping[str, str], own: Mapping[str, Mapping[str, str]]
) -> list[Exchange]:
    """Return what the ranks of each engine of several do to prove that they reach each other.

    Args:
        plan: A fleet over NVLink or RDMA.
        addresses: Host name → address that the other members reach.
        own: Host name → variables of its rank that only the host could tell.
    """
    environments = {(each.group, each.host): dict(each.env) for each in commands(plan, addresses, own)}
    return [
        Exchange(
            engine=group.name,
            backend="gloo" if plan.engine.variant == "cpu" else "nccl",
            python=f"{plan.engine.home}/bin/python",
            address=addresses[group.head.host],
            port=group.ports.rendezvous,
            members=[
                Member(
                    host=rank.host,
                    first=sum(len(before.seats) for before in group.ranks[:index]),
                    local=len(rank.seats),
                    environment=environments[group.name, rank.host],
                )
                for index, rank in enumerate(group.ranks)
            ],
        )
        for group in plan.groups
        if group.parallel.gpus > 1
    ]


def _engine(group: EngineGroup, gpus: int) -> Engine:
    return Engine(
        name=group.name,
        hosts=list(dict.fromkeys(rank.host for rank in group.ranks)),
        spans=group.parallel.tensor_parallel > gpus,
        transfers=group.ports.side_channel is not None,
        flags={option.name: option.value for option in group.options},
        env={option.name: text(option.value) for option in group.env},
    )

"""A fleet that is shown before `up` can start it: components only, so nothing of it enters a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from components import results
from components.cluster import GpuCluster
from stacks import report

if TYPE_CHECKING:
    from stacks.planning.hosts import PlannedHost
    from stacks.planning.plan import EngineGroup, FleetPlan, Rank


class PlannedFleet(pulumi.ComponentResource):
    """One fleet as a preview shows it: machines, and the ranks on them.

    Attributes:
        results: The stack's outputs by name; host names stand for addresses in them.
    """

    def __init__(self, plan: FleetPlan) -> None:
        """Declare what there will be of a plan."""
        super().__init__("rack:fleet:Fleet", plan.stack, {}, None)
        cluster = GpuCluster(plan, pulumi.ResourceOptions(parent=self))
        machines = {host.name: _Machine(plan, host, cluster) for host in plan.hosts}
        for group in plan.groups:
            for rank in group.ranks:
                _Rank(group, rank, machines[rank.host])
        names = {host.name: host.name for host in plan.hosts}
        self.results = {
            **results.of_the_plan(plan),
            "commands": results.commands(plan, names),
            "snippet": report.snippet(plan, report.entrance(plan)),
            "missing": list(plan.missing),
        }
        self.register_outputs({})


class _Machine(pulumi.ComponentResource):
    def __init__(self, plan: FleetPlan, host: PlannedHost, cluster: GpuCluster) -> None:
        machine = plan.machine
        shown = {
            "type": machine.name,
            "accelerators": f"{machine.gpus} {machine.accelerator}",
            "domain": host.domain,
        }
        super().__init__("rack:fleet:Machine", host.name, shown, pulumi.ResourceOptions(parent=cluster))
        self.register_outputs({})


class _Rank(pulumi.ComponentResource):
    def __init__(self, group: EngineGroup, rank: Rank, machine: _Machine) -> None:
        shown = {"serves": rank.serves, "gpus": [seat.gpu for seat in rank.seats]}
        name = f"{group.name}-{rank.rank}"
        super().__init__("rack:fleet:Rank", name, shown, pulumi.ResourceOptions(parent=machine))
        self.register_outputs({})

"""The machines of a fleet and the fabric between them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pulumi

if TYPE_CHECKING:
    from components.machines.declared import Declared
    from stacks.planning.plan import FleetPlan


class GpuCluster(pulumi.ComponentResource):
    """Machines of one provider joined by one fabric (nvlink, rdma; ethernet in the lab).

    Attributes:
        fabric: The fabric.
        machines: What the provider declared.
    """

    def __init__(
        self, plan: FleetPlan, fleet: str, inventory: pulumi.Resource, opts: pulumi.ResourceOptions
    ) -> None:
        """Declare the machines.

        Args:
            plan: The fleet.
            fleet: Its name on shared ground.
            inventory: The fleet's record. Its end sweeps all machines, so they are replaced when it is.
            opts: The parent, and what everything depends on.
        """
        super().__init__("rack:fleet:GpuCluster", "cluster", {}, opts)
        provider = import_module(f"components.machines.{plan.provider}.declare")
        below = pulumi.ResourceOptions(parent=self, depends_on=opts.depends_on, replace_with=[inventory])
        self.fabric = plan.fabric
        self.machines: Declared = provider.declare(plan, fleet, below)
        self.register_outputs({})

"""The machines of a fleet and the fabric between them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pulumi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.machines.declared import Declared
    from stacks.planning.plan import FleetPlan


class GpuCluster(pulumi.ComponentResource):
    """Machines joined by one fabric, and named by it; their parent.

    `nvlink` are trays whose GPUs share NVLink domains, `rdma` nodes on one network, `infinity-fabric` one
    node of AMD's, `ethernet` hosts of the lab. The fabric decides which roles machines get, which gates they
    pass, and by which settings the ranks talk.
    """

    def __init__(self, plan: FleetPlan, opts: pulumi.ResourceOptions) -> None:
        """Declare it without its machines.

        Args:
            plan: The fleet.
            opts: The parent, and what everything depends on.
        """
        shown = {
            "machine": plan.machine.title,
            "machines": len(plan.hosts),
            "fabric": plan.fabric.title,
            "roles": list(plan.host_stack.roles) if plan.host_stack else [],
        }
        super().__init__("rack:fleet:GpuCluster", plan.fabric.kind, shown, opts)
        self.register_outputs({})


def contacts(plan: FleetPlan) -> Sequence[dict[str, Any]]:
    """Return how the machines of a plan are logged in to; empty where the provider makes them."""
    found: Sequence[dict[str, Any]] = _provider(plan).contacts(plan)
    return found


def machines(
    plan: FleetPlan,
    fleet: str,
    cluster: GpuCluster,
    inventory: pulumi.Resource,
) -> Declared:
    """Declare the machines of a plan.

    Args:
        plan: The fleet.
        fleet: Its name on shared ground.
        cluster: Their parent.
        inventory: The fleet's record. Its end sweeps all machines, so they are replaced when it is.
    """
    opts = pulumi.ResourceOptions(parent=cluster, depends_on=[inventory], replace_with=[inventory])
    declared: Declared = _provider(plan).declare(plan, fleet, opts)
    return declared


def _provider(plan: FleetPlan) -> Any:
    return import_module(f"components.machines.{plan.provider}.declare")

"""The machines of a lab fleet: a network, an origin that stands for the site's mirror, and the hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from components.machines.declared import Declared
from components.machines.lab import cache
from components.machines.lab.host import Host
from components.machines.lab.network import Network
from components.machines.lab.origin import Origin
from components.plugin.resource import Ensured

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulumi

    from stacks.planning.hosts import PlannedHost
    from stacks.planning.plan import FleetPlan

ORIGIN_MIB = 512
"""Memory of the origin in MiB: nginx sends files and keeps nothing."""


def declare(plan: FleetPlan, fleet: str, opts: pulumi.ResourceOptions) -> Declared:
    """Declare the machines of a plan."""
    network = Ensured(Network, "network", {"fleet": fleet}, opts)
    origin = Ensured(Origin, "origin", _origin_inputs(plan, fleet, network), opts)
    hosts = {
        host.name: Ensured(Host, host.name, _host_inputs(plan, fleet, network, index, host), opts)
        for index, host in enumerate(plan.hosts, start=2)
    }
    return Declared({name: host.out("record") for name, host in hosts.items()}, origin.out("url"))


def contacts(plan: FleetPlan) -> Sequence[dict[str, Any]]:
    """Return nothing: the lab looks for what is left of a fleet on this machine."""
    del plan
    return []


def _origin_inputs(plan: FleetPlan, fleet: str, network: Ensured) -> dict[str, Any]:
    return {
        **_common_inputs(plan, fleet, network),
        "name": "origin",
        "index": 1,
        "cpus": 1,
        "memory_mib": ORIGIN_MIB,
        "wheels": str(cache.wheels(plan.engine.lock_digest)),
        "checkpoints": str(cache.checkpoints()),
    }


def _host_inputs(
    plan: FleetPlan, fleet: str, network: Ensured, index: int, host: PlannedHost
) -> dict[str, Any]:
    return {
        **_common_inputs(plan, fleet, network),
        "name": host.name,
        "index": index,
        "cpus": host.cpus,
        "memory_mib": host.memory_mib,
    }


def _common_inputs(plan: FleetPlan, fleet: str, network: Ensured) -> dict[str, Any]:
    if (image := plan.image) is None:
        raise ValueError(f"{plan.stack}: the plan of a lab fleet has no image")
    return {
        "fleet": fleet,
        "network": network.out("incarnation"),
        "subnet": network.out("subnet"),
        "bridge": network.out("bridge"),
        "image": str(cache.image(image.name, image.suite, image.packages)),
    }

"""The machines of a fleet of a person's own: each is claimed, and the mirror is the one that is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.machines.baremetal.host import Host
from components.machines.contact import contact
from components.machines.declared import Declared
from components.plugin.resource import Ensured
from stacks.planning import disks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stacks.config import ListedHost
    from stacks.planning.hosts import Claims, PlannedHost
    from stacks.planning.plan import FleetPlan

_SECONDS: Final = 900.0
"""For a claim; a machine that is taken over is cleared at the same time."""


def declare(plan: FleetPlan, fleet: str, opts: pulumi.ResourceOptions) -> Declared:
    """Declare the machines of a plan."""
    claims = _claims(plan)
    hosts = {
        host.name: Ensured(Host, host.name, _inputs(plan, fleet, host), opts, _SECONDS) for host in plan.hosts
    }
    records = {name: host.out("record") for name, host in hosts.items()}
    return Declared(records, pulumi.Output.from_input(claims.mirror or ""), lasting=True)


def contacts(plan: FleetPlan) -> Sequence[dict[str, Any]]:
    """Return how the machines of a plan are logged in to."""
    return [_contact(plan, host) for host in plan.hosts]


def _inputs(plan: FleetPlan, fleet: str, host: PlannedHost) -> dict[str, Any]:
    machine, listed = plan.machine, _listed(plan, host)
    return {
        "fleet": fleet,
        **_contact(plan, host),
        "type": machine.name,
        "arch": machine.arch,
        "vendor": machine.vendor,
        "accelerator": machine.accelerator,
        "gpus": machine.gpus,
        "memory_mib": plan.memory_mib,
        "brought": disks.brought(plan, host),
        "take_over": listed.take_over or "",
    }


def _contact(plan: FleetPlan, host: PlannedHost) -> dict[str, Any]:
    claims = _claims(plan)
    found = contact(host.name, _listed(plan, host), claims.identity or "", claims.jump)
    return found.model_dump(exclude_none=True)


def _claims(plan: FleetPlan) -> Claims:
    if plan.claims is None:
        raise ValueError(f"{plan.stack}: the plan of a fleet of one's own machines says nothing of them")
    return plan.claims


def _listed(plan: FleetPlan, host: PlannedHost) -> ListedHost:
    if host.listed is None:
        raise ValueError(f"{plan.stack}: {host.name} is listed nowhere, so the plan is none to carry out")
    return host.listed

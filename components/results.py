"""The outputs of a stack that come from its plan alone."""

from __future__ import annotations

import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from components.hosts.inventory import known_name
from components.hosts.record import HostRecord
from stacks import planning, report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stacks.planning.plan import FleetPlan
    from stacks.planning.reach import AccessPlan


def of_the_plan(plan: FleetPlan) -> dict[str, Any]:
    """Return the outputs that a preview knows already: what was planned, and what a client has to know."""
    return {
        "model": plan.served_name,
        "evidence": plan.standing.sentence,
        "contract": plan.endpoint.model_dump(mode="json"),
        "cost": plan.cost.model_dump(mode="json"),
        "plan": report.markdown(plan),
    }


def commands(
    plan: FleetPlan, addresses: Mapping[str, str], own: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Return how each rank is started.

    Args:
        plan: The fleet.
        addresses: Host name → address that the other members reach.
        own: Host name → variables that only the host could tell.
    """
    return [command.model_dump(mode="json") for command in planning.commands(plan, addresses, own)]


def reach(access: AccessPlan, record: Mapping[str, Any]) -> str:
    """Return the shell line that opens a private endpoint on this machine.

    It trusts the one host key that is known, and reads no file of the person who pastes it but the key.

    Args:
        access: Who reaches the fleet.
        record: Of the host that the gateway runs on.
    """
    host = HostRecord.model_validate(record, strict=False)  # on the engine's wire every number is a float
    options = {
        "IdentitiesOnly": "yes",
        "ExitOnForwardFailure": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": "/dev/null",
        "GlobalKnownHostsFile": "/dev/null",
        "KnownHostsCommand": f"/bin/echo {known_name(host)} {' '.join(host.host_key.split()[:2])}",
    }
    words = ["ssh", "-N", "-F", "none", "-L", f"{access.port}:127.0.0.1:{access.port}"]
    words += ["-i", host.identity_file, "-p", str(host.port)]
    words += [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    return shlex.join([*words, f"{host.user}@{host.address}"])

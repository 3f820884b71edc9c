"""The outputs of a stack that come from its plan alone."""

from __future__ import annotations

import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from components.hosts import openssh
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

    It trusts the host keys that are known, and reads no file of the person who pastes it but the keys.

    Args:
        access: Who reaches the fleet.
        record: Of the host that the gateway runs on.
    """
    host = HostRecord.model_validate(record, strict=False)  # on the engine's wire every number is a float
    options = {**openssh.STRICT, **openssh.knowing(host), "ExitOnForwardFailure": "yes"}
    if host.jump is not None:
        options |= openssh.proxy(host.jump, {**openssh.STRICT, **openssh.knowing(host.jump)})
    forward = ["ssh", "-N", "-L", f"{access.port}:127.0.0.1:{access.port}"]
    return shlex.join([*forward, *openssh.words(options), *openssh.login(host)])

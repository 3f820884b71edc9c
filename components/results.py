"""The outputs of a stack that come from its plan alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stacks import planning, report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stacks.planning.plan import FleetPlan


def of_the_plan(plan: FleetPlan) -> dict[str, Any]:
    """Return the outputs that a preview knows already: what was planned, and what a client has to know."""
    return {
        "model": plan.served_name,
        "evidence": plan.standing.sentence,
        "contract": plan.endpoint.model_dump(mode="json"),
        "cost": plan.cost.model_dump(mode="json"),
        "plan": report.markdown(plan),
    }


def commands(plan: FleetPlan, addresses: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return how each rank is started.

    Args:
        plan: The fleet.
        addresses: Host name → address that the other members reach.
    """
    return [command.model_dump(mode="json") for command in planning.commands(plan, addresses)]

"""The plan for programs."""

from json import dumps
from typing import Any

from stacks.planning import FleetPlan, commands


def json(plan: FleetPlan) -> str:
    """Return the whole plan with the command of every rank; host names stand for addresses."""
    rendered = commands(plan, {host.name: host.name for host in plan.hosts})
    document: dict[str, Any] = {
        "plan": plan.model_dump(mode="json"),
        "commands": [command.model_dump(mode="json") for command in rendered],
    }
    return dumps(document, indent=2, ensure_ascii=False) + "\n"


def summary(plan: FleetPlan) -> dict[str, Any]:
    """Return what is worth an output of its own."""
    return {
        "label": plan.standing.label,
        "standing": plan.standing.sentence,
        "missing": list(plan.missing),
        "unpinned": [f"{pin.what}: {pin.why}" for pin in plan.unpinned],
        "context": plan.context,
        "loadSeconds": {"low": plan.load.low, "high": plan.load.high},
        "cost": plan.cost.model_dump(mode="json"),
        "contract": plan.endpoint.model_dump(mode="json"),
    }

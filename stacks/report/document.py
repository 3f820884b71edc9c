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

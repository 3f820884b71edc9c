"""The plan for programs."""

from json import dumps
from typing import Any

from stacks.planning import FleetPlan, commands
from stacks.report import reached


def json(plan: FleetPlan) -> str:
    """Return the whole plan with every rank's command; names stand for addresses of machines not listed."""
    rendered = commands(plan, reached.addresses(plan))
    document: dict[str, Any] = {
        "plan": plan.model_dump(mode="json"),
        "commands": [command.model_dump(mode="json") for command in rendered],
    }
    return dumps(document, indent=2, ensure_ascii=False) + "\n"

"""From what a person asks for to everything that is decided before the first effect."""

from stacks.planning.commands import RankCommand, commands
from stacks.planning.plan import (
    Budget,
    Checkpoint,
    EnginePin,
    FleetPlan,
    ImagePin,
    Memory,
    PlannedHost,
    Ports,
    Rank,
)
from stacks.planning.planner import plan

__all__ = [
    "Budget",
    "Checkpoint",
    "EnginePin",
    "FleetPlan",
    "ImagePin",
    "Memory",
    "PlannedHost",
    "Ports",
    "Rank",
    "RankCommand",
    "commands",
    "plan",
]

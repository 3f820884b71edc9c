"""From what a person asks for to everything that is decided before the first effect."""

from stacks.planning.commands import RankCommand, commands, membership_reasons
from stacks.planning.plan import FleetPlan
from stacks.planning.planner import plan

__all__ = ["FleetPlan", "RankCommand", "commands", "membership_reasons", "plan"]

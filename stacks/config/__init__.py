"""What a person writes: one object, `rackstack:fleet`, in `stacks/Pulumi.<stack>.yaml`."""

from stacks.config.fleet import FleetConfig, Layout, Machines
from stacks.config.parse import KEY, parse

__all__ = ["KEY", "FleetConfig", "Layout", "Machines", "parse"]

"""What a person writes: one object, `rackstack:fleet`, in `stacks/Pulumi.<stack>.yaml`."""

from stacks.config.fleet import (
    MOST,
    BareMetalMachines,
    Disaggregated,
    FleetConfig,
    LabMachines,
    Layout,
    Parallelism,
    Setting,
    Workload,
)
from stacks.config.parse import KEY, parse
from stacks.config.stack_file import parse_file, read, text_of

__all__ = [
    "KEY",
    "MOST",
    "BareMetalMachines",
    "Disaggregated",
    "FleetConfig",
    "LabMachines",
    "Layout",
    "Parallelism",
    "Setting",
    "Workload",
    "parse",
    "parse_file",
    "read",
    "text_of",
]

"""What a person writes: one object, `rackstack:fleet`, in `stacks/Pulumi.<stack>.yaml`."""

from stacks.config.access import OPERATOR, Access, GivenCertificate, Key
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
    "OPERATOR",
    "Access",
    "BareMetalMachines",
    "Disaggregated",
    "FleetConfig",
    "GivenCertificate",
    "Key",
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

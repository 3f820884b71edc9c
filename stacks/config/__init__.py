"""What a person writes: one object, `rackstack:fleet`, in `stacks/Pulumi.<stack>.yaml`."""

from stacks.config.access import OPERATOR, Access, GivenCertificate, Key
from stacks.config.fleet import (
    Disaggregated,
    FleetConfig,
    Layout,
    Parallelism,
    Setting,
    Workload,
)
from stacks.config.machines import (
    MOST,
    BareMetalMachines,
    JumpHost,
    Kept,
    LabMachines,
    ListedHost,
)
from stacks.config.parse import KEY, parse
from stacks.config.stack_file import parse_file, read, text_of
from stacks.config.storage import Storage

__all__ = [
    "KEY",
    "MOST",
    "OPERATOR",
    "Access",
    "BareMetalMachines",
    "Disaggregated",
    "FleetConfig",
    "GivenCertificate",
    "JumpHost",
    "Kept",
    "Key",
    "LabMachines",
    "Layout",
    "ListedHost",
    "Parallelism",
    "Setting",
    "Storage",
    "Workload",
    "parse",
    "parse_file",
    "read",
    "text_of",
]

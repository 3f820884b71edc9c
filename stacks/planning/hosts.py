"""The machines of a plan."""

from collections.abc import Mapping
from typing import Literal

from stacks.config import JumpHost, Kept, ListedHost
from stacks.values import Value


class CheckpointPlace(Value):
    """Where a machine keeps checkpoints, other than on the disk of its system.

    Attributes:
        kind: A folder that is there, one empty disk, or an NFS export.
        source: Its path, serial number, or SERVER:/EXPORT.
    """

    kind: Literal["path", "disk", "nfs"]
    source: str


class PlannedHost(Value):
    """One machine of the fleet.

    Attributes:
        name: Name in the fleet, at most 63 characters: `tray-0`, `host-1`.
        domain: Which NVLink or Infinity Fabric domain it is in, from 0.
        cpus: Processor cores it may use; lab only.
        memory_mib: Memory it may use, in MiB; lab only.
        listed: The machine that a person listed for it; None in the lab, and where none is listed yet.
        checkpoints: Where it keeps checkpoints; None: on the disk of its system.
    """

    name: str
    domain: int
    cpus: int = 0
    memory_mib: int = 0
    listed: ListedHost | None = None
    checkpoints: CheckpointPlace | None = None

    @property
    def nics(self) -> tuple[str, ...]:
        """Return the RDMA devices that a person listed, which alone count then; empty where none are."""
        return self.listed.nics if self.listed else ()


class Claims(Value):
    """What machines of a person's own have in common.

    Attributes:
        identity: Path of the private key that opens them; None where it is not given yet.
        jump: The machine that SSH goes through; None: none.
        mirror: Base URL that serves wheels/ and checkpoints/ to them; None where it is not given yet.
        keep: What `destroy` leaves on them.
    """

    identity: str | None
    jump: JumpHost | None
    mirror: str | None
    keep: tuple[Kept, ...]


class HostStack(Value):
    """What a machine with NVIDIA GPUs needs below the engine.

    Attributes:
        roles: Roles of `playbooks/roles`, in no order that counts.
        driver: Exact release of the driver; None where nobody says which.
        driver_floor: Oldest release that serves; None where unknown.
        packages: Role → package → release, empty for the newest that the hosts' sources have.
        tools: Packages of the distribution that the roles ask.
        settings: Key of sysctl → value.
        kernel_arguments: What the kernel is started with.
    """

    roles: tuple[str, ...]
    driver: str | None
    driver_floor: str | None
    packages: Mapping[str, Mapping[str, str]]
    tools: tuple[str, ...]
    settings: Mapping[str, str]
    kernel_arguments: tuple[str, ...]

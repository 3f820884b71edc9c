"""How a machine is logged in to that is not ours: as much as is known before it is claimed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from components.hosts.record import HostRecord, JumpHost

if TYPE_CHECKING:
    from stacks.config import JumpHost as ConfiguredJump
    from stacks.config import ListedHost


class Contact(BaseModel):
    """A machine that a person listed; the fields are those of its `HostRecord`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    name: str
    address: str
    port: int
    user: str
    identity_file: str
    host_key: str
    jump: JumpHost | None = None

    def record(self, incarnation: str = "", interface: str = "") -> HostRecord:
        """Return the record of the machine; without arguments that of one which nobody has claimed."""
        return HostRecord(
            name=self.name,
            address=self.address,
            port=self.port,
            user=self.user,
            identity_file=self.identity_file,
            host_key=self.host_key,
            incarnation=incarnation,
            interface=interface,
            jump=self.jump,
        )


def contact(name: str, host: ListedHost, identity: str, jump: ConfiguredJump | None) -> Contact:
    """Return how a machine that a person listed is logged in to, with the paths of this machine in full.

    Args:
        name: Its name in the fleet.
        host: What the stack file says of it.
        identity: Path of the private key that opens it.
        jump: The machine that SSH goes through; None: none.
    """
    return Contact(
        name=name,
        address=host.address,
        port=host.port,
        user=host.user,
        identity_file=_here(identity),
        host_key=host.host_key,
        jump=JumpHost(
            address=jump.address,
            port=jump.port,
            user=jump.user,
            identity_file=_here(jump.identity),
            host_key=jump.host_key,
        )
        if jump
        else None,
    )


def _here(path: str) -> str:
    return str(Path(path).expanduser())

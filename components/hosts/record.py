"""What the rest of Rackstack knows of one host, and of the way to it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Hop(BaseModel):
    """One end of an SSH connection that starts at the operator's machine.

    Attributes:
        address: Address that the operator's machine reaches; of a host behind a jump host, that this reaches.
        port: SSH port.
        user: Login user.
        identity_file: Path of the private key on the operator's machine.
        host_key: The public host key, `ssh-ed25519 AAAA…`, known before the first connection.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    address: str
    port: int
    user: str
    identity_file: str
    host_key: str


class JumpHost(Hop):
    """A machine that forwards SSH connections to hosts which this machine does not reach itself.

    Nothing runs there: an account that may do nothing but forward is enough.
    """


class Contact(Hop):
    """How a host is logged in to: as much as is known of a person's machine before it is claimed.

    Its user is root, or one with password-less sudo.

    Attributes:
        name: Name in the fleet, unique in it, at most 63 characters.
        jump: The jump host that leads to it; None where the operator's machine reaches it itself.
    """

    name: str
    jump: JumpHost | None = None

    @property
    def called(self) -> str:
        """Return how sentences name the machine."""
        return f"{self.name} ({self.address})"

    def record(self, incarnation: str = "", interface: str = "") -> HostRecord:
        """Return the record of the machine; without arguments that of one which nobody has claimed."""
        known: dict[str, Any] = {name: getattr(self, name) for name in Contact.model_fields}
        return HostRecord(**known, incarnation=incarnation, interface=interface)


class HostRecord(Contact):
    """A machine that answers SSH: the hand-over from a machine provider to everything on the host.

    The other members reach it at its address too.

    Attributes:
        incarnation: Nonce of the machine; a rebuilt machine under the same address has another.
        interface: Network interface that reaches the other members.
    """

    incarnation: str
    interface: str

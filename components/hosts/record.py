"""What the rest of Rackstack knows of one host, and of the way to it."""

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict


class JumpHost(BaseModel):
    """A machine that forwards SSH connections to hosts which this machine does not reach itself.

    Nothing runs there: an account that may do nothing but forward is enough.

    Attributes:
        address: Address that the operator's machine reaches.
        port: SSH port.
        user: Login user; any.
        identity_file: Path of the private key on the operator's machine.
        host_key: The public host key, `ssh-ed25519 AAAA…`, known before the first connection.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    address: str
    port: int
    user: str
    identity_file: str
    host_key: str


class HostRecord(BaseModel):
    """A machine that answers SSH: the hand-over from a machine provider to everything on the host.

    Attributes:
        name: Name in the fleet, unique in it, at most 63 characters.
        address: Address that the other members reach, and the jump host; without one, the operator's machine.
        port: SSH port.
        user: Login user; root, or one with password-less sudo.
        identity_file: Path of the private key on the operator's machine.
        host_key: The public host key, `ssh-ed25519 AAAA…`, known before the first connection.
        incarnation: Nonce of the machine; a rebuilt machine under the same address has another.
        interface: Network interface that reaches the other members.
        jump: The jump host that leads to it; None where the operator's machine reaches it itself.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    name: str
    address: str
    port: int
    user: str
    identity_file: str
    host_key: str
    incarnation: str
    interface: str
    jump: JumpHost | None = None


Hop: TypeAlias = HostRecord | JumpHost
"""One end of an SSH connection that starts at the operator's machine."""

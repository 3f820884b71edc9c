"""What the rest of Rackstack knows of one host."""

from pydantic import BaseModel, ConfigDict


class JumpHost(BaseModel):
    """The machine that SSH to a host goes through.

    Attributes:
        address: Address or name that the operator's machine reaches.
        port: SSH port.
        user: Login user.
        identity_file: Path of the private key on the operator's machine.
        host_key: The public host key, known before the first connection.
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
        address: Address that the operator's machine and the other members reach.
        port: SSH port.
        user: Login user; root, or one with password-less sudo.
        identity_file: Path of the private key on the operator's machine.
        host_key: The public host key, `ssh-ed25519 AAAA…`, known before the first connection.
        incarnation: Nonce of the machine; a rebuilt machine under the same address has another.
        interface: Network interface that reaches the other members.
        jump: The machine that SSH goes through; None: none.
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

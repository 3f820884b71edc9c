"""How a machine that a person listed is logged in to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.hosts.record import Contact, JumpHost

if TYPE_CHECKING:
    from stacks.config import JumpHost as ConfiguredJump
    from stacks.config import ListedHost


def contact(name: str, host: ListedHost, identity: str, jump: ConfiguredJump | None) -> Contact:
    """Return how a machine that a person listed is logged in to, with the paths of this machine in full.

    Args:
        name: Its name in the fleet.
        host: What the stack file says of it.
        identity: Path of the private key that opens it.
        jump: The machine that SSH goes through; None: none.
    """
    through = JumpHost(**_login(jump, jump.identity)) if jump else None
    return Contact(name=name, jump=through, **_login(host, identity))


def _login(there: ListedHost | ConfiguredJump, identity: str) -> dict[str, Any]:
    return {
        "address": there.address,
        "port": there.port,
        "user": there.user,
        "identity_file": str(Path(identity).expanduser()),
        "host_key": there.host_key,
    }

"""Who logs in where, in words."""

from typing import Protocol


class Account(Protocol):
    """An account on a machine: a listed one, or the jump host."""

    @property
    def address(self) -> str:
        """Return its address, or the jump host's name."""

    @property
    def port(self) -> int:
        """Return the port of its SSH server."""

    @property
    def user(self) -> str:
        """Return who logs in."""


def place(there: Account) -> str:
    """Return how sentences name an account on a machine: `root@10.20.0.11:22`."""
    return f"{there.user}@{there.address}:{there.port}"

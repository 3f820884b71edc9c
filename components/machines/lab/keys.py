"""SSH key pairs, made on the operator's machine so that they are known before the first contact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.machines.lab.commands import call

if TYPE_CHECKING:
    from pathlib import Path


def make_pair(private: Path, comment: str) -> None:
    """Make an ed25519 pair without passphrase: `private` with mode 0600, the public key beside it."""
    public = private.with_name(f"{private.name}.pub")
    private.unlink(missing_ok=True)
    public.unlink(missing_ok=True)
    call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(private))


def public_key(private: Path) -> str:
    """Return the public key of a pair as `ssh-ed25519 AAAA…`, without its comment."""
    return " ".join(private.with_name(f"{private.name}.pub").read_text().split()[:2])

"""Public SSH host keys as a person writes them: whole, and of the type that they say."""

import base64
import binascii
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import AfterValidator, Field

_PARTS: Final[dict[str, tuple[int | None, ...]]] = {
    "ssh-ed25519": (32,),
    "ecdsa-sha2-nistp256": (8, 65),
    "ecdsa-sha2-nistp384": (8, 97),
    "ecdsa-sha2-nistp521": (8, 133),
    "ssh-rsa": (None, None),
}
"""Type → bytes of each part behind it (RFC 8709, 4; RFC 5656, 3.1, points not compressed; RFC 4253, 6.6)."""

_LENGTH: Final = 4  # bytes of the length before each part (RFC 4251, 5)
_WAY_OUT: Final = "write type and key as they stand in /etc/ssh/ssh_host_ed25519_key.pub of that machine"
EXAMPLE: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJtlXhMPvrFfBzBxzzsKfjPiCBIWzcqLkoPPUGRWFsAN"


def _host_key(text: str) -> str:
    kind, encoded, *_ = [*text.split(), "", ""]
    if kind not in _PARTS:
        raise ValueError(f"is no public host key; {_WAY_OUT}")
    try:
        inner, *parts = _parts(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError):
        raise ValueError(f"is cut off or damaged, so that no key can be read from it; {_WAY_OUT}") from None
    if inner != kind.encode():
        raise ValueError(f"says {kind}, and the key behind it is of another type; {_WAY_OUT}")
    if not _fit(parts, _PARTS[kind]):
        raise ValueError(
            f"is no whole key of the type {kind}: its parts are too long or too short; {_WAY_OUT}"
        )
    return f"{kind} {encoded}"


def _parts(blob: bytes) -> Iterator[bytes]:
    """Yield the parts of a key.

    Raises:
        ValueError: It ends within one.
    """
    while blob:
        end = _LENGTH + int.from_bytes(blob[:_LENGTH])
        if len(blob) < max(end, _LENGTH + 1):
            raise ValueError
        yield blob[_LENGTH:end]
        blob = blob[end:]


def _fit(parts: list[bytes], sizes: tuple[int | None, ...]) -> bool:
    return len(parts) == len(sizes) and all(
        size in {None, len(part)} for part, size in zip(parts, sizes, strict=True)
    )


HostKey = Annotated[
    str,
    AfterValidator(_host_key),
    Field(description="its public SSH host key, type and key"),
]

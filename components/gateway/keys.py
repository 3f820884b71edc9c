"""Which text can be an API key. Pure."""

import re
from collections.abc import Iterator
from typing import Final

SHORTEST: Final = 16
LONGEST: Final = 256
# What a bearer token may hold (RFC 6750); none of it means anything to the gateway's configuration.
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9._~+/=-]")


def faults_of_key(name: str, key: str) -> list[str]:
    """Return one sentence per fault of a key, without the key.

    Args:
        name: What the stack file calls it.
        key: What a client would send as its bearer token.
    """
    return [f"access: key {name} {fault}" for fault in _faults(key)]


def _faults(key: str) -> Iterator[str]:
    if not SHORTEST <= len(key) <= LONGEST:
        yield (
            f"has {len(key)} characters, and the gateway takes {SHORTEST} to {LONGEST}: set another secret, "
            f"or leave `secret` out to have one generated"
        )
    if _FOREIGN.search(key):
        yield (
            "holds a character that no bearer token may hold: use letters, digits and . _ ~ + / = - only "
            "(a line break at the end counts too)"
        )

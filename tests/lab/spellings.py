"""How a secret may be written where nobody means to write it. Pure."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SHORTEST: Final = 8
"""Characters; a shorter piece stands by chance in other data too."""
_ARMOUR: Final = "-----"


def found(secrets: Mapping[str, str], data: bytes) -> list[str]:
    """Return the names of the secrets that data holds in any spelling.

    Args:
        secrets: Name → secret.
        data: Anything, binary too.
    """
    return [name for name, secret in secrets.items() if any(each in data for each in spellings(secret))]


@cache
def spellings(secret: str) -> frozenset[bytes]:
    """Return the bytes that betray a secret: each of its lines, and the base64 of the whole, spelled out."""
    pieces = [*_lines(secret), secret]
    return frozenset(each for piece in pieces for each in _spelled(piece) if len(each) >= SHORTEST)


def patterns(secrets: Iterable[str]) -> str:
    """Return all spellings as `grep --fixed-strings --file=-` reads them, without those of several lines."""
    texts = {each.decode() for secret in secrets for each in spellings(secret)}
    return "".join(f"{text}\n" for text in sorted(texts) if "\n" not in text)


def _lines(secret: str) -> Iterator[str]:
    """Yield the lines that are the secret itself; a key's armour is the same for all keys."""
    for line in secret.splitlines():
        if not line.startswith(_ARMOUR):
            yield line


def _spelled(piece: str) -> Iterator[bytes]:
    raw = piece.encode()
    yield raw
    yield from _base64(raw)
    yield raw.hex().encode()
    for each in (quote(piece, safe=""), quote(piece), quote_plus(piece)):
        yield each.encode()
        yield _lower_hex(each).encode()
    yield piece.replace(".", "[.]").replace("+", "[+]").encode()
    yield re.escape(piece).encode()
    escaped = json.dumps(piece)[1:-1]
    yield escaped.encode()
    yield escaped.replace("/", "\\/").encode()
    # As Go writes JSON for browsers.
    yield "".join(f"\\u{ord(each):04x}" if each in "<>&" else each for each in escaped).encode()


def _base64(raw: bytes) -> Iterator[bytes]:
    """Yield what every base64 of a text with these bytes in it holds, wherever in it they stand."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw).rstrip(b"=")
        # The first characters also hold bits of what stands before, the last one bits of what comes after.
        begin = (before * 8 + 5) // 6
        end = len(whole) - (1 if (before + len(raw)) % 3 else 0)
        yield whole[begin:end]
        yield whole[begin:end].translate(bytes.maketrans(b"+/", b"-_"))


def _lower_hex(quoted: str) -> str:
    parts = quoted.split("%")
    return "%".join([parts[0], *(f"{part[:2].lower()}{part[2:]}" for part in parts[1:])])

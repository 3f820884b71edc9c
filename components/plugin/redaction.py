"""Secrets that passed through this process never leave it in a text.

The engine blanks only `pulumi config --secret` values; generated and derived ones are ours to blank.
"""

import base64
import json
import re
import threading
from collections.abc import Iterable, Iterator
from typing import Final

MASK: Final = "[secret]"
SHORTEST: Final = 4
"""Characters: a shorter string stands in ordinary words, and blanking it would only spoil the text."""
SHORTEST_ENCODED: Final = 8
"""Characters of a secret in base64, of which the ends depend on what stands around it."""

# What looks like a secret is taken for one where a text is kept, whether it is known or not.
_LOOKS: Final = (
    re.compile(
        r"-----BEGIN (?P<kind>[A-Z ]*)PRIVATE KEY-----.*?(?:-----END (?P=kind)PRIVATE KEY-----|\Z)", re.DOTALL
    ),
    re.compile(r"\brk-[A-Za-z0-9_-]{8,}"),
    re.compile(r"(?<=bearer )[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
)


class Redactor:
    """Remembers secret strings and blanks them in texts. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def learn(self, secrets: Iterable[str]) -> None:
        """Remember secrets, each line of those that have several, and how both look in JSON and in base64."""
        parts = {part for secret in secrets for part in (secret, *secret.splitlines())}
        forms = {form for part in parts if len(part) >= SHORTEST for form in _forms(part)}
        with self._lock:
            self._known |= forms

    def clean(self, text: str) -> str:
        """Return the text with every known secret blanked, the longest first."""
        with self._lock:
            known = sorted(self._known, key=len, reverse=True)
        for secret in known:
            text = text.replace(secret, MASK)
        return text

    def scrub(self, text: str) -> str:
        """Return the text without known secrets and without anything that looks like one, to be kept."""
        text = self.clean(text)
        for look in _LOOKS:
            text = look.sub(MASK, text)
        return text


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    for offset in range(3):
        # Base64 turns three bytes into four letters: where the secret begins decides which.
        shifted = bytes(offset) + secret.encode()
        whole = shifted[: len(shifted) - len(shifted) % 3]
        encoded = base64.b64encode(whole).decode()[(4 if offset else 0) :]
        if len(encoded) >= SHORTEST_ENCODED:
            yield encoded
            yield encoded.translate(str.maketrans("+/", "-_"))

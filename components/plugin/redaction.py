"""Secrets that passed through this process never leave it in a text.

The engine blanks only `pulumi config --secret` values; generated and derived ones are ours to blank.
"""

import threading
from collections.abc import Iterable
from typing import Final

MASK: Final = "[secret]"
SHORTEST: Final = 4
"""Characters: a shorter string stands in ordinary words, and blanking it would only spoil the text."""


class Redactor:
    """Remembers secret strings and blanks them in texts. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def learn(self, secrets: Iterable[str]) -> None:
        """Remember secrets, and each line of those that have several."""
        parts = {part for secret in secrets for part in (secret, *secret.splitlines())}
        with self._lock:
            self._known |= {part for part in parts if len(part) >= SHORTEST}

    def clean(self, text: str) -> str:
        """Return the text with every known secret blanked, the longest first."""
        with self._lock:
            known = sorted(self._known, key=len, reverse=True)
        for secret in known:
            text = text.replace(secret, MASK)
        return text

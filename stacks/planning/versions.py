"""Releases in order: `0.27.1` comes before `0.28.0`."""

import re


def key(release: str) -> tuple[int, ...]:
    """Return what a release sorts by; what follows its numbers (`rc1`, `.post1`) is left out."""
    found = re.match(r"[0-9]+(\.[0-9]+)*", release)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def within(release: str, since: str, before: str | None) -> bool:
    """Return whether a release is not older than `since` and older than `before`."""
    return key(since) <= key(release) and (before is None or key(release) < key(before))

"""Whether the engine's lock holds the packages that an option needs."""

from collections.abc import Iterator, Mapping

from stacks.catalog.engines import Lock
from stacks.planning.versions import key

ANY = "0"
"""The least release of a package of which every one serves."""


def lacking(lock: Lock | None, needs: Mapping[str, str]) -> Iterator[str]:
    """Yield a clause for each package (name → least release) that a lock is not known to hold."""
    for package, least in needs.items():
        wanted = f"needs {package} {'of any release' if least == ANY else f'{least} or newer'}"
        held = lock.packages.get(package) if lock else None
        if lock is None:
            yield f"{wanted}, and the engine's lock is not pinned yet"
        elif held is None or key(held) < key(least):
            yield f"{wanted}, and the engine's lock holds {held or 'none'}"

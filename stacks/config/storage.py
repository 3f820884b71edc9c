"""Places of checkpoints that exclude each other, in whatever a person wrote. Pure."""

from collections.abc import Iterator
from typing import Final

from stacks.places import Location

_PLACES: Final = ("path", "disk", "nfs")


def two_places(fleet: object) -> Iterator[tuple[Location, str]]:
    """Yield where and what for every place of checkpoints that another one excludes."""
    machines = fleet.get("machines") if isinstance(fleet, dict) else None
    if not isinstance(machines, dict):
        return
    storage, hosts = machines.get("storage"), machines.get("hosts")
    given = [key for key in _PLACES if isinstance(storage, dict) and storage.get(key)]
    for key in given[1:]:
        yield (
            ("machines", "storage", key),
            f"stands beside machines.storage.{given[0]}, and checkpoints lie in one place: drop one of them",
        )
    other = next((key for key in given if key != "disk"), None)
    for index, host in enumerate(hosts if other and isinstance(hosts, list) else ()):
        if isinstance(host, dict) and host.get("disk"):
            yield (
                ("machines", "hosts", index, "disk"),
                f"stands beside machines.storage.{other}, and checkpoints lie in one place: drop one of them",
            )

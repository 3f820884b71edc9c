"""What stands twice in the list of machines, in whatever a person wrote. Pure."""

from collections.abc import Iterator
from typing import Any, Final

from stacks.faults import shown
from stacks.places import Location, written

_ALONE: Final = {
    "name": "one name each",
    "address": "list each machine once",
    "host_key": (
        "these are two addresses of one machine, or machines of one image that nobody can tell apart: list "
        "it once, or make new host keys there (`ssh-keygen -A`)"
    ),
    "place": "one machine stands there: write rack and tray of each",
    "disk": (
        "a serial number is that of one disk: write that of each machine's own, or machines.storage.disk "
        "where they are numbered alike"
    ),
}


def listed_twice(fleet: object) -> Iterator[tuple[Location, str]]:
    """Yield where and what for every machine, device and word that stands in its list already."""
    yield from _words(written(fleet, ("machines", "keep")), ("machines", "keep"))
    listed = written(fleet, ("machines", "hosts"))
    hosts = listed if isinstance(listed, list) else []
    for index, host in enumerate(hosts):
        yield from _words(written(host, ("nics",)), ("machines", "hosts", index, "nics"))
    yield from _machines(hosts)


def _machines(hosts: list[Any]) -> Iterator[tuple[Location, str]]:
    for key, way_out in _ALONE.items():
        first: dict[Any, int] = {}
        for index, host in enumerate(hosts):
            value = _compared(host, key)
            if value in first:
                yield (
                    ("machines", "hosts", index, key),
                    f"{shown(value)} is that of machines.hosts[{first[value]}] too; {way_out}",
                )
            elif value:
                first[value] = index


def _compared(host: object, key: str) -> str:
    value = written(host, (key,))
    if isinstance(value, dict):
        rack, tray = value.get("rack"), value.get("tray")
        return "" if tray is None else f"tray {tray}" if rack is None else f"rack {rack}, tray {tray}"
    if not isinstance(value, str):
        return ""
    return " ".join(value.split()[:2]) if key == "host_key" else value


def _words(listed: object, at: Location) -> Iterator[tuple[Location, str]]:
    words = listed if isinstance(listed, list) else []
    for index, word in enumerate(words):
        if isinstance(word, str) and word in words[:index]:
            first = f"{at[-1]}[{words.index(word)}]"
            yield (*at, index), f"{shown(word)} is that of {first} too; list each once, and drop this one"

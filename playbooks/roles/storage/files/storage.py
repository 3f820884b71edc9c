# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say what lies on a disk that is to hold checkpoints, and whether it may be formatted.

Usage: storage.py look SERIAL MIB    (as `lsblk` prints it; what is to lie there)

Prints JSON: `device`, `uuid` (of the file system that this role makes on that disk), `refusals` (why nothing
is done to it, as clauses), and `make` (whether it is empty, so that a file system is to be made).
"""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

LABEL = "rackstack"  # xfs has room for 12 characters
SPACE = uuid.UUID("5d0a1f5e-6d1b-4c0e-9a53-0f4f6f0f7a11")
PLACE = "/var/lib/rackstack/checkpoints"
EDGE = 1 << 20  # bytes at either end, where partition tables, RAID and LVM keep their own
COLUMNS = "NAME,PATH,TYPE,SERIAL,MODEL,SIZE,RO,FSTYPE,LABEL,UUID,PTTYPE,MOUNTPOINTS"
PATIENCE = 60.0  # seconds; a disk that fails can keep a question for long

Node = Mapping[str, Any]


def main(action: str, serial: str, mib: str) -> None:
    """Print the look."""
    del action
    try:
        answer = judge(serial, int(mib) << 20, devices(), clear)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        answer = verdict("", serial, [f"what it has of disks cannot be read ({error}): run `lsblk` there"])
    sys.stdout.write(json.dumps(answer))


def judge(
    serial: str, needed: int, nodes: Sequence[Node], is_clear: Callable[[str, int], bool]
) -> dict[str, Any]:
    """Return what is to be done with a disk.

    Args:
        serial: Its serial number.
        needed: Bytes that are to lie there.
        nodes: `blockdevices` of `lsblk --json`.
        is_clear: Whether both ends of a device (path, bytes) hold zeros alone; asked last.
    """
    disks = [node for node in nodes if node.get("type") == "disk"]
    found = [node for node in disks if str(node.get("serial") or "").strip() == serial]
    if len(found) != 1:
        return verdict("", serial, [not_one(serial, found, disks)])
    [disk] = found
    path = str(disk["path"])
    if is_ours(disk, serial):
        return verdict(path, serial, mounted_elsewhere(disk, serial))
    refusals = [*held(disk, serial), *too_small(disk, serial, needed)]
    if not refusals and not is_clear(path, int(disk["size"])):
        refusals = [f"disk {serial} ({path}) has data in its first or last MiB, {way_out(path)}"]
    return verdict(path, serial, refusals, make=not refusals)


def verdict(path: str, serial: str, refusals: Sequence[str], *, make: bool = False) -> dict[str, Any]:
    """Return the answer."""
    return {"device": path, "uuid": identity(serial), "refusals": list(refusals), "make": make}


def identity(serial: str) -> str:
    """Return the UUID of the file system that belongs on a disk: the same on every run."""
    return str(uuid.uuid5(SPACE, serial))


def not_one(serial: str, found: Sequence[Node], disks: Sequence[Node]) -> str:
    """Return the clause about a serial number that no disk has, or several."""
    if found:
        paths = " and ".join(str(each["path"]) for each in found)
        return (
            f"serial number {serial} is that of {paths}, and one disk is to be formatted: those are two ways "
            "to one disk, or a number that its maker gave twice; name another disk in machines.storage.disk"
        )
    if known := ", ".join(described(each) for each in disks if could_be_meant(each)):
        way_out = f"it has {known}: write one of these in machines.storage.disk, or in `disk` of that machine"
    else:
        way_out = "no disk there shows any: name a path or an export in machines.storage instead"
    return f"no disk there has the serial number {serial}; {way_out}"


def could_be_meant(disk: Node) -> bool:
    """Return whether a disk has a number to write down and room; zram and empty slots do not."""
    return bool(str(disk.get("serial") or "").strip()) and int(disk.get("size") or 0) > 0


def described(disk: Node) -> str:
    """Return how a person tells a disk: by number, path, size and model."""
    model = str(disk.get("model") or "").strip()
    facts = filter(None, (str(disk["path"]), gb(int(disk["size"])), model))
    return f"{str(disk['serial']).strip()} ({', '.join(facts)})"


def gb(size: int) -> str:
    """Return a size as disks are sold."""
    return f"{size / 1e9:,.1f} GB"


def too_small(disk: Node, serial: str, needed: int) -> Iterator[str]:
    """Yield a clause about a disk that what is to lie there does not fit on, whatever is on it."""
    if int(disk["size"]) < needed:
        yield (
            f"disk {serial} ({disk['path']}) has {gb(int(disk['size']))}, and the checkpoint takes "
            f"{gb(needed)}: name a larger one in machines.storage.disk"
        )


def is_ours(disk: Node, serial: str) -> bool:
    """Return whether the disk as a whole holds the file system that this role made on it."""
    return (
        not disk.get("children")
        and disk.get("fstype") == "xfs"
        and disk.get("label") == LABEL
        and disk.get("uuid") == identity(serial)
    )


def mounted_elsewhere(disk: Node, serial: str) -> list[str]:
    """Return a clause where our file system is mounted, but at other places."""
    others = [place for place in places(disk) if place != PLACE]
    if not others:
        return []
    where = " and ".join(others)
    sentence = f"disk {serial} ({disk['path']}) is mounted on {where}, and the checkpoints belong on {PLACE}"
    return [f"{sentence}: unmount it there, then run again"]


def held(disk: Node, serial: str) -> Iterator[str]:
    """Yield a clause that names everything that a disk holds; none where it holds nothing."""
    holds = list(contents(disk))
    if holds:
        yield f"disk {serial} ({disk['path']}) {' and '.join(holds)}, {way_out(str(disk['path']))}"


def contents(disk: Node) -> Iterator[str]:
    """Yield what is on a disk, or on what is made of it."""
    below = list(descendants(disk))
    parts = [str(node["path"]) for node in below if node.get("type") == "part"]
    if parts or disk.get("pttype"):
        yield f"has a {disk.get('pttype') or 'unknown'} partition table ({', '.join(parts) or 'empty'})"
    for node in (disk, *below):
        if node.get("fstype"):
            yield f"holds {node['fstype']} on {node['path']}"
        if where := places(node):
            yield f"is in use on {' and '.join(where)}"
        if node.get("type") not in ("disk", "part"):
            yield f"is a member of {node['path']} ({node.get('type') or 'unknown'})"
    if disk.get("ro") in (True, 1, "1"):
        yield "cannot be written to"


def descendants(node: Node) -> Iterator[Node]:
    """Yield everything that is made of a device."""
    for child in node.get("children") or ():
        yield child
        yield from descendants(child)


def places(node: Node) -> list[str]:
    """Return where a device is mounted; swap counts."""
    return [str(each) for each in node.get("mountpoints") or () if each]


def way_out(path: str) -> str:
    """Return the rule and the way out for a disk that is not empty."""
    return (
        "and only an empty disk is formatted: name another one in machines.storage.disk, or, if nobody needs "
        f"what it holds, empty it there (`wipefs -a {path}` and `blkdiscard -z {path}`) and run again"
    )


def devices() -> list[Node]:
    """Return what `lsblk` says of all block devices."""
    shown = subprocess.run(
        ("lsblk", "--json", "--bytes", "--output", COLUMNS),
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stdout
    return list(json.loads(shown)["blockdevices"])


def clear(path: str, size: int) -> bool:
    """Return whether the first and the last MiB of a device hold zeros alone."""
    with Path(path).open("rb") as device:
        for start in (0, max(size - EDGE, 0)):
            device.seek(start)
            if any(device.read(EDGE)):
                return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])

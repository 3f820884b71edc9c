"""Control groups of lab machines: one per machine below our own, in every hierarchy, of either version.

Without its own group in every hierarchy, two machines would share the groups of their equally named units.
The machine lives one level below the group that holds its limits: as on a whole computer, the root of its
tree shows none. (An engine that sees a limit there counts the page cache against it and refuses to start.)
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components.machines.lab.names import MACHINE
from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_PROCESSES: Final = 8192
"""Tasks of one host: an engine's threads and a compiler, but no fork bomb."""
_INSIDE: Final = "inside"
_PERIOD: Final = 100_000
"""Microseconds over which the kernel counts processor time, its own choice too."""
_CONTROLLERS: Final = frozenset({"cpu", "memory", "pids"})
_REMOVAL: Final = 5.0
"""Seconds until the kernel has let go of a group whose last process has ended."""
_POLL: Final = 0.05


@dataclass(frozen=True)
class Hierarchy:
    """One mounted tree of control groups.

    Attributes:
        mount: Where it is mounted.
        own: Folder of this process's group.
        unified: Whether it is version 2, where a group with processes cannot pass controllers on.
    """

    mount: Path
    own: Path
    unified: bool


def hierarchies(mountinfo: str, cgroup: str) -> list[Hierarchy]:
    """Read the trees from the texts of /proc/self/mountinfo and /proc/self/cgroup."""
    mounts = [_mount(line.split()) for line in mountinfo.splitlines() if " - cgroup" in line]
    found = []
    for line in cgroup.splitlines():
        _, controllers, group = line.split(":", 2)
        wanted = set(controllers.split(",")) if controllers else {"cgroup2"}
        for point, root, offered in mounts:
            if wanted <= offered and Path(group).is_relative_to(root):
                own = Path(point) / Path(group).relative_to(root)
                found.append(Hierarchy(Path(point), own, not controllers))
                break
    return found


def make(machine: str) -> list[Path]:
    """Make the groups of a machine; return the folders that its processes go to, one per hierarchy."""
    return [_make(machine, each) for each in _hierarchies()]


def limit(machine: str, cpus: float, memory_mib: int) -> list[str]:
    """Set the limits of a machine; return what could not be limited here, in words.

    Raises:
        Refusal: The kernel does not accept a limit.
    """
    groups = find(machine)
    return [what for what, files in _wanted(cpus, memory_mib).items() if not _write(groups, files)]


def differing(machine: str, cpus: float, memory_mib: int) -> dict[str, str]:
    """Return a sentence for each limit of a machine that is not as asked, by what it limits.

    What cannot be limited here does not differ.
    """
    groups = find(machine)
    return {
        what: f"its limit is {found} ({name}), not {value}"
        for what, files in _wanted(cpus, memory_mib).items()
        for name, value in files.items()
        for group in groups
        if (found := _read(group / name)) not in {None, value}
    }


def find(machine: str) -> list[Path]:
    """Return the folders of a machine's groups, wherever in the trees they lie."""
    return [folder for folder in _all_of_ours() if folder.name == machine]


def machines() -> set[str]:
    """Return the lab machines that have a group."""
    return {folder.name for folder in _all_of_ours()}


def remove(machine: str) -> None:
    """Remove the groups of a machine whose processes have ended, with all below.

    Raises:
        Refusal: The kernel does not let go of one.
    """
    until = time.monotonic() + _REMOVAL
    while groups := find(machine):
        for group in groups:
            _remove_tree(group)
        if time.monotonic() > until:
            raise Refusal(
                f"control groups of {machine} do not go: {', '.join(map(str, groups))}; look inside"
            )
        if any(group.exists() for group in groups):
            time.sleep(_POLL)


def _hierarchies() -> list[Hierarchy]:
    proc = Path("/proc/self")
    return hierarchies((proc / "mountinfo").read_text(), (proc / "cgroup").read_text())


def _mount(fields: Sequence[str]) -> tuple[str, str, set[str]]:
    """Return the point, the root and what is offered, of a line of /proc/self/mountinfo."""
    dash = fields.index("-")
    return fields[4], fields[3], {fields[dash + 1], *fields[dash + 3].split(",")}


def _make(machine: str, hierarchy: Hierarchy) -> Path:
    outer = _room(hierarchy) / machine
    inner = outer / _INSIDE
    for folder in (outer, inner):
        folder.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):  # version 1 starts them empty and then takes no process
            if not hierarchy.unified and (folder / name).exists():
                (folder / name).write_text((folder.parent / name).read_text())
    if hierarchy.unified:
        _passes_on(outer, _words(outer / "cgroup.controllers") & _CONTROLLERS)
    return inner


def _room(hierarchy: Hierarchy) -> Path:
    """Return the group that a machine's may lie in: our own, or the next above that can pass limits on."""
    if not hierarchy.unified:
        return hierarchy.own
    needed = _words(hierarchy.mount / "cgroup.controllers") & _CONTROLLERS
    for group in (hierarchy.own, *hierarchy.own.parents):
        if _passes_on(group, needed):
            return group
        if group == hierarchy.mount:
            break
    return hierarchy.own


def _passes_on(group: Path, needed: frozenset[str]) -> bool:
    """Tell whether groups below have the controllers that limits need, after asking for them."""
    switch = group / "cgroup.subtree_control"
    if not needed <= _words(switch):
        with suppress(OSError):  # busy where the group has processes of its own
            switch.write_text(" ".join(f"+{each}" for each in sorted(needed)))
    return needed <= _words(switch)


def _words(file: Path) -> frozenset[str]:
    return frozenset(file.read_text().split())


def _wanted(cpus: float, memory_mib: int) -> dict[str, dict[str, str]]:
    """Return the files, of either version, that limit each thing, and what they are to hold."""
    quota, most = str(int(cpus * _PERIOD)), str(memory_mib << 20)
    return {
        "cpus": {"cpu.cfs_quota_us": quota, "cpu.max": f"{quota} {_PERIOD}"},
        "memory": {"memory.limit_in_bytes": most, "memory.max": most},
        "processes": {"pids.max": str(MOST_PROCESSES)},
    }


def _read(file: Path) -> str | None:
    """Return what a limit's file holds; None where there is none."""
    try:
        return file.read_text().strip()
    except OSError:
        return None


def _write(groups: Sequence[Path], files: Mapping[str, str]) -> bool:
    """Write each value to the file of that name, wherever there is one; tell whether there was any."""
    there = [
        (group / name, value) for group in groups for name, value in files.items() if (group / name).exists()
    ]
    for file, value in there:
        try:
            file.write_text(value)
        except OSError as error:
            raise Refusal(
                f"{file} does not accept {value}: {error.strerror}; ask for another limit"
            ) from None
    return bool(there)


def _all_of_ours() -> Iterator[Path]:
    for hierarchy in _hierarchies():
        yield from _ours_below(hierarchy.mount)


def _ours_below(folder: Path) -> Iterator[Path]:
    with suppress(OSError):  # groups of others come and go while we look
        for each in folder.iterdir():
            if MACHINE.fullmatch(each.name):
                yield each
            elif not each.is_symlink() and each.is_dir():
                yield from _ours_below(each)


def _remove_tree(group: Path) -> None:
    with suppress(OSError):  # still busy, or gone meanwhile: the caller looks again
        for each in group.iterdir():
            if each.is_dir():
                _remove_tree(each)
        group.rmdir()

"""What exists on this machine under a lab fleet's name, whether a state knows it or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.machines.lab import cgroups, disk, links, machine, names, processes, root
from components.machines.lab.commands import sentences
from components.machines.provider import Former

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from components.hosts.record import Contact
    from components.plugin.kind import Run


class Lab:
    """The lab's side of the fleet's inventory; fulfils `components.machines.provider.Provider`."""

    def list_things(self, fleet: str, hosts: Sequence[Contact]) -> Sequence[str]:
        """Return processes, namespaces, links, control groups, mounts and folders of a fleet."""
        del hosts
        mark, folder = names.mark(fleet), root.fleet_folder(fleet)
        return [
            *_running(mark),
            *(f"network namespace {each}" for each in links.namespaces(mark)),
            *(f"network interface {each}" for each in links.links(mark)),
            *(f"control group {each}" for each in sorted(cgroups.machines()) if _bears(each, mark)),
            *(f"mount {each}" for each in disk.mounts_below(folder)),
            *([f"folder {folder}"] if folder.exists() else []),
        ]

    def remove_strays(self, fleet: str, hosts: Sequence[Contact], run: Run) -> None:
        """End and remove everything of a fleet, its machines first."""
        del hosts, run
        with sentences(fleet):
            _remove_all(fleet)

    def former(self, fleet: str, hosts: Sequence[Contact], members: Sequence[Contact]) -> Former:
        """Return none: a machine that leaves is removed."""
        del fleet, hosts, members
        return Former((), ())


def _remove_all(fleet: str) -> None:
    for name in _machines(fleet):
        folder = root.machine_folder(fleet, name)
        with root.held(folder):
            machine.end(names.machine(fleet, name))
            disk.wipe(folder)
    for link in links.links(names.mark(fleet)):
        links.remove(link)
    if root.fleet_folder(fleet).exists():
        with root.held(root.fleet_folder(fleet)):
            disk.wipe(root.fleet_folder(fleet))


def _machines(fleet: str) -> list[str]:
    """Return the names of hosts that have left anything, in their own words."""
    mark = names.mark(fleet)
    titles = {*links.namespaces(mark), *cgroups.machines(), *processes.by_machine()}
    named = {title.removeprefix(f"{mark}-") for title in titles if _bears(title, mark)}
    folder = root.machines_folder(fleet)
    return sorted(named | ({each.name for each in folder.iterdir()} if folder.exists() else set()))


def _running(mark: str) -> Iterator[str]:
    for title, pids in sorted(processes.by_machine().items()):
        if _bears(title, mark):
            yield f"{len(pids)} processes of machine {title} ({', '.join(map(str, sorted(pids)[:5]))} …)"


def _bears(title: str, mark: str) -> bool:
    return title.startswith(f"{mark}-")

"""One lab machine: a whole systemd in its own namespaces and control groups, from start to nothing left."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components.machines.lab import cgroups, disk, links, names, processes, root
from components.processes import send
from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.plugin.kind import Run

STARTING: Final = 60.0
"""Seconds from start to the first answer; about six on an idle machine."""
ANSWERING: Final = 15.0
"""Seconds until a running machine must answer; a compiling engine can keep it busy."""
_ENDING: Final = 8.0
_POLL: Final = 0.1
_NSPAWN_SETTINGS: Final = {
    "SYSTEMD_NSPAWN_TMPFS_TMP": "0",  # /tmp lies on the disk, not in the host's memory
    "SYSTEMD_NSPAWN_LOCK": "0",  # our own lock leaves no file behind
}
_NSPAWN_STATE: Final = Path("/run/systemd/nspawn")

# The first process of a launch stays the launcher: every step replaces itself by the next.
# Its id appears whole or not at all: who waits for the machine takes an empty file for a dead launcher.
_ENTER: Final = """\
echo $$ >"$1.part" && mv "$1.part" "$1" || exit 1; shift
while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; done; shift
exec "$@"
"""
_MOUNT: Final = """\
mount -t overlay rackstack-lab -o "$1" "$2" || exit 1; shift 2
exec "$@"
"""


@dataclass(frozen=True)
class Machine:
    """What a machine is made of.

    Attributes:
        fleet: Name of the fleet.
        name: Name of the host in it.
        index: Its number in the fleet, from 1; it decides the address.
        subnet: The fleet's /24.
        bridge: The fleet's bridge.
        image: Root filesystem below the disk.
        cpus: Processor cores.
        memory_mib: Memory in MiB.
        folders: Path on the host → folder of the operator that is seen there, read-only.
        ports: Ports that answer when the machine is well, SSH first.
    """

    fleet: str
    name: str
    index: int
    subnet: str
    bridge: str
    image: Path
    cpus: float
    memory_mib: int
    folders: Mapping[str, str]
    ports: tuple[int, ...]

    @property
    def title(self) -> str:
        """Name on this machine."""
        return names.machine(self.fleet, self.name)

    @property
    def link(self) -> str:
        """Name of its interface on the bridge."""
        return names.link(self.fleet, self.index)

    @property
    def address(self) -> str:
        """Address on the fleet's network."""
        return names.address(self.subnet, self.index)

    @property
    def folder(self) -> Path:
        """Where everything of it is kept."""
        return root.machine_folder(self.fleet, self.name)


def start(machine: Machine, run: Run) -> None:
    """Start a machine that is not running, and wait until it answers.

    Raises:
        Refusal: It does not start; or the engine asks to stop.
    """
    links.join(machine.title, machine.link, machine.bridge, _interface(machine), _hardware(machine))
    groups = cgroups.make(machine.title)
    limit(machine, run)
    run.progress("starting the machine")
    _launch(machine, groups)
    wait(machine, run, run.deadline or STARTING)


def limit(machine: Machine, run: Run) -> None:
    """Set the limits of a machine, running or about to run."""
    unlimited = cgroups.limit(machine.title, machine.cpus, machine.memory_mib)
    if unlimited:
        run.warn(
            f"{machine.name}: {', '.join(unlimited)} are not limited: the control groups here cannot; "
            "run outside the container to have limits"
        )


def wait(machine: Machine, run: Run, seconds: float) -> None:
    """Wait until every port of a machine answers.

    Raises:
        Refusal: It stopped, or did not answer in time; or the engine asks to stop.
    """
    until = time.monotonic() + seconds
    while silent := silent_ports(machine):
        if run.stop.is_set():
            raise Refusal(f"{machine.name}: stopped while it started; run `pulumi up` again")
        if _leader(machine).exists() and not is_running(machine):
            raise Refusal(f"{machine.name}: the machine ended while it was starting: {_last_words(machine)}")
        if time.monotonic() > until:
            raise Refusal(
                f"{machine.name}: port {silent[0]} of {machine.address} did not answer within "
                f"{seconds:.0f} s; the machine's last words: {_last_words(machine)}"
            )
        time.sleep(_POLL)


def is_running(machine: Machine) -> bool:
    """Tell whether the launcher lives; a stranger with its old process id is not mistaken for it."""
    try:
        pid = int(_leader(machine).read_text())
    except (OSError, ValueError):
        return False
    return processes.machine_of(pid) == machine.title


def stale_folders(machine: Machine) -> list[str]:
    """Return the operator's folders that a running machine does not see as they are now.

    A folder that was removed and made again stays hidden behind the one that the machine started with.
    """
    return [theirs for here, theirs in machine.folders.items() if not _sees(machine, here, theirs)]


def silent_ports(machine: Machine) -> list[int]:
    """Return the ports that do not answer now; an open SSH port answers with its banner."""
    return [port for port in machine.ports if not _answers(machine.address, port)]


def end(title: str, *its_links: str) -> None:
    """End a machine at once, and remove everything of it but its folder.

    Raises:
        Refusal: Something does not go.
    """
    _kill(title)
    links.leave(title, *its_links)
    cgroups.remove(title)
    _forget_in_nspawn(title)


def remove(machine: Machine) -> None:
    """End a machine and empty its folder, which whoever holds it takes away.

    Raises:
        Refusal: Something does not go.
    """
    end(machine.title, machine.link)
    disk.wipe(machine.folder)


def _launch(machine: Machine, groups: list[Path]) -> None:
    leader, mount_point = _leader(machine), machine.folder / "root"
    leader.unlink(missing_ok=True)
    enter = ["sh", "-c", _ENTER, "sh", str(leader), *map(str, groups), "--"]
    # The disk is mounted where only the machine sees it, so that the mount ends with the machine.
    apart = ["unshare", "--mount", "--propagation", "slave"]
    mount = ["sh", "-c", _MOUNT, "sh", disk.options(machine.folder, machine.image), str(mount_point)]
    with (machine.folder / "console.log").open("ab") as console:
        subprocess.run(
            ["setsid", "--fork", *enter, *apart, *mount, *_nspawn(machine, mount_point)],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), **_NSPAWN_SETTINGS},
            check=True,
        )


def _nspawn(machine: Machine, mount_point: Path) -> list[str]:
    binds = [f"--bind-ro={theirs}:{here}" for here, theirs in machine.folders.items()]
    return [
        processes.LAUNCHER,
        "--boot",
        f"--directory={mount_point}",
        f"--machine={machine.title}",
        f"--network-namespace-path={links.NAMESPACES / machine.title}",
        # Withheld by the launcher where it did not make the namespace; a host has a firewall of its own.
        "--capability=CAP_NET_ADMIN",
        "--register=no",
        "--keep-unit",
        "--settings=no",
        "--link-journal=no",
        "--resolv-conf=off",
        "--timezone=off",
        *binds,
    ]


def _kill(title: str) -> None:
    until = time.monotonic() + _ENDING
    while pids := processes.by_machine().get(title):
        if time.monotonic() > until:
            raise Refusal(f"processes of {title} do not end: {pids}; see what they wait for and run again")
        send(signal.SIGKILL, pids)
        time.sleep(_POLL)


def _forget_in_nspawn(title: str) -> None:
    """Remove the folder that the launcher leaves in /run when it is killed."""
    with suppress(OSError):
        (_NSPAWN_STATE / "propagate" / title).rmdir()


def _leader(machine: Machine) -> Path:
    return machine.folder / "leader"


def _sees(machine: Machine, here: str, theirs: str) -> bool:
    try:
        return Path(f"{_inside(machine)}{here}").samefile(theirs)
    except OSError:
        return False


def _inside(machine: Machine) -> Path:
    """Return where the file system of a running machine, as its first process sees it, can be looked into."""
    leader = _leader(machine).read_text().strip()
    first = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
    return Path(f"/proc/{first[0] if first else leader}/root")


def _last_words(machine: Machine) -> str:
    try:
        console = (machine.folder / "console.log").read_text(errors="replace")
    except OSError:
        return "none"
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console).splitlines()]
    return next((line for line in reversed(lines) if line), "none")


def _answers(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1.0) as connection:
            return port != 22 or connection.recv(4) == b"SSH-"  # noqa: PLR2004 -- the port of SSH
    except OSError:
        return False


def _interface(machine: Machine) -> IPv4Interface:
    return IPv4Interface(f"{machine.address}/24")


def _hardware(machine: Machine) -> str:
    return names.hardware_address(machine.fleet, machine.index)

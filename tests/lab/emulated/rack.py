"""Lab hosts as machines with GPUs, a package source beside them, and somebody who switches them on."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from components.fleet_inventory import Inventory
from components.hosts import runs, ssh
from components.hosts.playbook import PlaybookInputs
from components.hosts.roles import digests
from components.machines.lab import names, processes
from components.machines.lab.host import Host
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import EffectError
from tests.factories.machines import boot, machine
from tests.factories.run import FakeRun
from tests.lab.emulated import packages
from tests.lab.faults.origin import serving
from tests.lab.faults.site import on
from tests.lab.outside import inventory_of, traces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from components.hosts.record import HostRecord
    from components.machines.lab.booted import MachineInputs, MachineOutputs
    from tests.lab.emulated.packages import Package
    from tests.lab.faults.origin import Mirror

GPUS = 4
TRAY = ("tuning", "nvidia_driver", "limits", "imex", "dcgm")
"""Roles of a tray, as the plan has them."""
MEMORY_MIB = 512
FOLDER = "/apt/./"  # as apt asks for what is in a flat source


@dataclass
class Rack:
    """A fleet of emulated machines.

    Attributes:
        fleet: Its identity.
        made: What each machine was asked for with, and what it is.
        mirror: Serves the package source.
        off: Machines that stay off when they go down.
    """

    fleet: str
    made: list[tuple[MachineInputs, MachineOutputs]]
    mirror: Mirror
    off: set[str] = field(default_factory=set)

    @property
    def hosts(self) -> list[HostRecord]:
        """All hosts, in order."""
        return [outputs.record for _, outputs in self.made]

    def offer(self, *offered: Package) -> None:
        """Have the source hold exactly these packages."""
        kept = {path: content for path, content in self.mirror.files.items() if not path.startswith(FOLDER)}
        self.mirror.files.clear()
        self.mirror.files |= kept
        self.mirror.files |= {
            f"{FOLDER}{name}": content for name, content in packages.source(offered).items()
        }

    def furnish(self, kernel: Package) -> None:
        """Make machines with GPUs of the hosts, and give them the source.

        Args:
            kernel: What such a machine is.
        """
        self.offer(kernel)
        for host in self.hosts:
            on(host, f"echo 'deb [trusted=yes] {self.mirror.url}/apt/ ./' >/etc/apt/sources.list")
            on(host, "apt-get -q update && apt-get -q --yes install emulated-kernel", seconds=120)

    def inputs(self, roles: Iterable[str], **changed: Any) -> PlaybookInputs:
        """Return the inputs of the real `prepare` with these roles below the engine."""
        addresses = [host.address for host in self.hosts]
        wanted = wishes(packages.RELEASE) | {
            "prepare_packages": ["g++"],
            "prepare_memory_mib": 128,
            "host_stack_roles": list(roles),
        }
        return PlaybookInputs(
            fleet=self.fleet,
            playbook="prepare",
            hosts=self.hosts,
            variables=wanted | changed,
            host_variables={
                host.name: {"imex_nodes": addresses, "imex_address": host.address} for host in self.hosts
            },
            secrets={},
            roles=digests("prepare"),
            after=[],
        )

    def wait(self, host: HostRecord, command: str) -> str:
        """Return what a command prints once the host answers again."""
        end = time.monotonic() + 90
        while True:
            with suppress(EffectError, AssertionError):
                return on(host, command)
            assert time.monotonic() < end, f"{host.name} does not come back"

    def switch_on(self) -> None:
        """Boot every machine that is down and not to stay so."""
        running = processes.by_machine()
        for asked, outputs in self.made:
            if asked.name not in self.off and names.machine(self.fleet, asked.name) not in running:
                with suppress(EffectError):
                    Host().update(asked, asked, outputs, FakeRun())


def wishes(release: str) -> dict[str, Any]:
    """Return the variables of all roles, for one release of the driver."""
    return {
        "tuning_settings": {"kernel.numa_balancing": "0"},
        "tuning_kernel_arguments": ["init_on_alloc=0"],
        "nvidia_driver_release": release,
        "nvidia_driver_floor": "580.65.06",
        "nvidia_driver_packages": {"nvidia-driver-580-open": release, "libnvidia-nscq": release},
        "limits_hugepages": 0,
        "fabric_manager_release": release,
        "fabric_manager_driver": release,
        "fabric_manager_accelerator": "b300",
        "fabric_manager_packages": {"nvidia-fabricmanager": release, "libnvsdm": release, "nvlsm": ""},
        "imex_packages": {"nvidia-imex": release},
        "imex_driver": release,
        "imex_accelerator": "gb300",
        "dcgm_packages": {"datacenter-gpu-manager-4-cuda13": ""},
        "dcgm_gpus": GPUS,
    }


@contextmanager
def trays(fleet: str, image: Path, kept: Path, *offered: Package) -> Iterator[Rack]:
    """Boot two trays without a driver, about 10 s; nothing of them is left after the block.

    Args:
        fleet: Identity of the fleet.
        image: Root filesystem.
        kept: Folder for what failed runs leave.
        offered: What their package source holds beside the machine itself.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "KEPT", kept)
        with booted(fleet, image, 2, packages.machine(GPUS), *offered) as made:
            yield made


@contextmanager
def booted(
    fleet: str, image: Path, count: int, kernel: Package, *offered: Package, memory_mib: int = MEMORY_MIB
) -> Iterator[Rack]:
    """Boot machines with GPUs and without a driver; nothing of them is left after the block.

    Args:
        fleet: Identity of the fleet.
        image: Root filesystem.
        count: How many.
        kernel: What such a machine is.
        offered: What their package source holds beside that.
        memory_mib: Memory of each, in MiB.
    """
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    asked = [machine(network, fleet, f"tray-{rank}", rank + 2, image) for rank in range(count)]
    asked = [each.model_copy(update={"memory_mib": memory_mib}) for each in asked]
    with serving(network.subnet.replace(".0/24", ".1")) as mirror:
        made = Rack(fleet, list(zip(asked, boot(asked), strict=True)), mirror)
        try:
            made.furnish(kernel)
            made.offer(kernel, *offered)
            with attended(made):
                yield made
        finally:
            ssh.close_all()
            Inventory().delete(*inventory_of(fleet), FakeRun())
    assert traces(fleet) == []


@contextmanager
def attended(rack: Rack) -> Iterator[None]:
    """Boot machines again that restart, as firmware does, until the end of the block."""
    over = threading.Event()

    def attend() -> None:
        while not over.wait(0.5):
            rack.switch_on()

    thread = threading.Thread(target=attend)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

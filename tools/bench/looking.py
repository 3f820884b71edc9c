"""How long a look takes: every playbook of a fleet at once, over new connections, as in a `preview`."""

import secrets
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from components.fleet_inventory import Inventory, InventoryInputs, InventoryOutputs
from components.hosts import ssh
from components.hosts.playbook import Playbook
from components.hosts.record import HostRecord
from components.machines.lab import cache
from components.machines.lab.booted import MachineInputs
from components.machines.lab.host import Host
from components.machines.lab.network import Network, NetworkInputs
from stacks import catalog
from tools.bench.figure import Figure, within
from tools.bench.playbooks import Applied, Silent
from tools.bench.served import Served

MANY = 16
_ROUNDS = 5
_IMAGE = "bookworm-2"
_FIRST_INDEX = 2
_MEMORY_MIB = 256
_BOOTS_AT_ONCE = 4
_MARKERS = "/var/lib/rackstack"
_LIMIT = 60.0


def at_the_fleet(fleet: Served) -> Iterator[Figure]:
    """Yield how long all looks at the fleet's hosts take together."""
    yield _looked(f"look at {len(fleet.hosts)} hosts", fleet.playbooks, fleet.hosts, most=1.5)


def at_many(fleet: Served) -> Iterator[Figure]:
    """Yield how long the same looks take at bare lab hosts with the head's markers, which they look up."""
    with _hosts() as hosts:
        _mark(fleet, hosts)
        yield _looked(f"look at {MANY} bare lab hosts of this machine", fleet.playbooks, hosts, most=4)


def _mark(fleet: Served, hosts: Sequence[HostRecord]) -> None:
    name = fleet.playbooks[0][0].fleet
    markers = ssh.run(fleet.hosts[0], f"tar -C {_MARKERS} -c {name} | base64", deadline=_LIMIT).out
    for host in hosts:
        ssh.run(
            host, f"mkdir -p {_MARKERS}; base64 -d | tar -C {_MARKERS} -x", deadline=_LIMIT, stdin=markers
        )


def _looked(what: str, playbooks: Sequence[Applied], hosts: Sequence[HostRecord], most: float) -> Figure:
    everywhere = [
        (inputs.model_copy(update={"hosts": list(hosts)}), outputs) for inputs, outputs in playbooks
    ]
    taken = median(_seconds(everywhere) for _ in range(_ROUNDS))
    return within(what, taken, most, f"{len(playbooks)} playbooks, new connections")


def _seconds(playbooks: Sequence[Applied]) -> float:
    ssh.close_all()
    begin = time.perf_counter()
    with ThreadPoolExecutor(len(playbooks)) as pool:
        list(pool.map(lambda each: Playbook().read(each[0], each[1], Silent()), playbooks))
    return time.perf_counter() - begin


@contextmanager
def _hosts() -> Iterator[list[HostRecord]]:
    """Boot lab hosts, and take them away afterwards whatever happened."""
    fleet = f"bench-{secrets.token_hex(3)}"
    try:
        yield _booted(fleet)
    finally:
        ssh.close_all()
        Inventory().delete(
            InventoryInputs(fleet=fleet, provider="lab"), InventoryOutputs(incarnation="any"), Silent()
        )


def image() -> Path:
    """Return the root filesystem of lab hosts."""
    recipe = catalog.load().images[_IMAGE]
    return cache.image(_IMAGE, recipe.suite, recipe.packages)


def _booted(fleet: str) -> list[HostRecord]:
    root = str(image())
    network = Network().create(NetworkInputs(fleet=fleet), Silent())
    wanted = [
        MachineInputs(
            fleet=fleet,
            name=f"many-{number}",
            network=network.incarnation,
            subnet=network.subnet,
            bridge=network.bridge,
            image=root,
            index=_FIRST_INDEX + number,
            cpus=1,
            memory_mib=_MEMORY_MIB,
        )
        for number in range(MANY)
    ]
    with ThreadPoolExecutor(_BOOTS_AT_ONCE) as pool:
        return [made.record for made in pool.map(lambda each: Host().create(each, Silent()), wanted)]

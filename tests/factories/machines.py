"""Lab machines as tests ask for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from components.machines.lab.booted import MachineInputs, MachineOutputs
from components.machines.lab.host import Host
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from components.machines.lab.network import NetworkOutputs

LEAST_MIB: Final = 256
"""MiB of a test's machine."""


def machine(network: NetworkOutputs, fleet: str, name: str, index: int, image: Path) -> MachineInputs:
    """Return a small machine on a network."""
    return MachineInputs(
        fleet=fleet,
        name=name,
        network=network.incarnation,
        subnet=network.subnet,
        bridge=network.bridge,
        image=str(image),
        index=index,
        cpus=1,
        memory_mib=LEAST_MIB,
    )


def boot(asked: Sequence[MachineInputs]) -> list[MachineOutputs]:
    """Boot machines side by side."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda each: Host().create(each, FakeRun()), asked))

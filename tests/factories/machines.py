"""Lab machines as tests ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from components.machines.lab.booted import MachineInputs

if TYPE_CHECKING:
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

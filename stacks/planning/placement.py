"""Which machine each rank runs on, and which GPU holds which part of the model."""

from collections.abc import Iterator

from stacks.config import BareMetalMachines, LabMachines, ListedHost, Parallelism, Storage
from stacks.planning.design import Design, GroupDesign
from stacks.planning.hosts import CheckpointPlace, PlannedHost
from stacks.planning.plan import Rank, Seat


def hosts(design: Design) -> tuple[PlannedHost, ...]:
    """Return the machines in rank order."""
    return tuple(_host(design, index) for index in range(design.count))


def ranks(design: Design, group: GroupDesign, first: int, *, all_serve: bool) -> tuple[Rank, ...]:
    """Return the ranks of an engine.

    Args:
        design: The fleet.
        group: The engine.
        first: Index of its first machine in the fleet.
        all_serve: Whether every rank answers HTTP (hybrid load balancing), not the head alone.
    """
    cpus = design.config.machines.cpus if isinstance(design.config.machines, LabMachines) else 0
    return tuple(
        Rank(
            rank=rank,
            host=name(design, first + rank),
            # A lab host's cores are cores of this machine: the ranks share none as long as there are enough.
            core=(first + rank) * cpus,
            serves=all_serve or rank == 0,
            seats=tuple(_seats(group.parallel, rank, design.machine.gpus)),
        )
        for rank in range(group.machines)
    )


def name(design: Design, index: int) -> str:
    """Return the name of a machine in the fleet: `tray-0`, or the one that a person gave it."""
    own = design.listed[index].name if index < len(design.listed) else None
    return own or f"{design.machine.unit}-{index}"


def _host(design: Design, index: int) -> PlannedHost:
    machines = design.config.machines
    if isinstance(machines, BareMetalMachines):
        listed = machines.hosts[index] if index < len(machines.hosts) else None
        return PlannedHost(
            name=name(design, index),
            domain=_domain(design, index),
            listed=listed,
            checkpoints=_checkpoints(machines.storage, listed),
        )
    return PlannedHost(
        name=name(design, index), domain=index, cpus=machines.cpus, memory_mib=machines.memory_gib * 1024
    )


def _checkpoints(storage: Storage | None, listed: ListedHost | None) -> CheckpointPlace | None:
    """Return where a machine keeps checkpoints; a disk of its own stands before that of all."""
    if listed and listed.disk:
        return CheckpointPlace(kind="disk", source=listed.disk)
    if storage is None:
        return None
    if storage.path:
        return CheckpointPlace(kind="path", source=storage.path)
    if storage.disk:
        return CheckpointPlace(kind="disk", source=storage.disk)
    return CheckpointPlace(kind="nfs", source=storage.nfs) if storage.nfs else None


def _domain(design: Design, index: int) -> int:
    """Return the NVLink domain of a machine, taking that trays of one domain are listed one after another."""
    spans = design.fabric.kind == "nvlink" and design.machine.domain > design.machine.gpus
    return index * design.machine.gpus // design.machine.domain if spans else index


def _seats(parallel: Parallelism, rank: int, gpus: int) -> Iterator[Seat]:
    """Yield the GPUs of a rank: the engine counts tensor parallel ranks first, then stages, then data."""
    tensor, pipeline = parallel.tensor_parallel, parallel.pipeline_parallel
    for gpu, world in enumerate(range(rank * gpus, min((rank + 1) * gpus, parallel.gpus))):
        yield Seat(
            gpu=gpu,
            data=world // (tensor * pipeline),
            pipeline=world // tensor % pipeline,
            tensor=world % tensor,
        )

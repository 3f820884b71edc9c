"""Deadlines: bytes at the slowest speed that is still healthy, and an allowance for what is not bytes."""

from collections.abc import Sequence

from stacks.config import BareMetalMachines
from stacks.planning import placement
from stacks.planning.design import Design
from stacks.planning.load import bytes_to_read
from stacks.planning.memory import mib
from stacks.planning.spent import Budget

# MiB/s. A mirror or disk below these is a fault to look for, not a reason to wait.
SLOWEST_FETCH = 20
SLOWEST_READ = 50

# MiB/s. A checkpoint of 1.56 TB took about 95 minutes over NFS: the slowest read that anybody documents
# (https://github.com/AMD-AGI/Infera/tree/main/examples/recipes/kimi-k3), and the slowest network too.
SLOWEST_GPU_READ = 260
SLOWEST_GPU_FETCH = 260

# Seconds. Measured on two idle cores: engine installed in 35, first completion 62 after the start; on two
# busy ones the completion took 219, and each playbook several times as long. What fails ends the wait at
# once, so room costs nothing.
PREPARE_ALLOWANCE = 300
# Assumptions, of machines with GPUs: packages that build a kernel module; firmware that tests terabytes of
# memory at each start, where hosts are restarted one after another (`reboot_seconds` of the role `reboot`).
DRIVER_ALLOWANCE = 1800
RESTART_ALLOWANCE = 1800
# Under four streams on two cores it took 80; on the same cores under a load of 50, more than 300.
ACCESS_ALLOWANCE = 900
ENGINE_ALLOWANCE = 300
CHECKPOINT_ALLOWANCE = 300
SERVE_ALLOWANCE = 300
START_ALLOWANCE = 600

# Seconds. What the recipes of both models give the engine to become ready (VLLM_ENGINE_READY_TIMEOUT_S).
GPU_START_ALLOWANCE = 3600


def budget(design: Design) -> Budget:
    """Return the deadlines of a fleet in seconds; bytes that are unknown count nothing."""
    checkpoint = mib(bytes_to_read(design) or 0)
    read = SLOWEST_READ if design.lab else _storage(design)
    start = START_ALLOWANCE if design.lab else GPU_START_ALLOWANCE
    return Budget(
        prepare=_prepare(design),
        access=ACCESS_ALLOWANCE,
        engine=design.engine.facts.disk_mib / SLOWEST_FETCH + ENGINE_ALLOWANCE,
        checkpoint=checkpoint / _fetch(design) + CHECKPOINT_ALLOWANCE,
        serve=SERVE_ALLOWANCE,
        ready=checkpoint / read + start,
        start=start,
        read=read * 2**20,
    )


def ready_within(budget: Budget, measured: Sequence[float | None]) -> float:
    """Return how long to wait for the first completion: half of the slowest speed is still healthy.

    Args:
        budget: The deadlines of the plan; measured speed never makes one later.
        measured: What each host reads, in bytes per second; None of one that did not tell.
    """
    known = [speed for speed in measured if speed is not None]
    if len(known) < len(measured) or min(known) / 2 <= budget.read:
        return budget.ready
    return budget.start + (budget.ready - budget.start) * budget.read / (min(known) / 2)


def _prepare(design: Design) -> float:
    if design.family.vendor != "nvidia":
        return PREPARE_ALLOWANCE
    return PREPARE_ALLOWANCE + DRIVER_ALLOWANCE + design.count * RESTART_ALLOWANCE


def _fetch(design: Design) -> float:
    """Return the slowest that each machine may fetch, in MiB/s: its share of what the mirror sends.

    How fast storage is read says nothing of network or writing, and nobody says how fast those are. Machines
    that share an export fetch once.
    """
    if design.lab:
        return SLOWEST_FETCH
    places = [host.checkpoints for host in placement.hosts(design)]
    shared = {place for place in places if place and place.kind == "nfs"}
    alone = sum(place not in shared for place in places)
    return SLOWEST_GPU_FETCH / (alone + len(shared))


def _storage(design: Design) -> float:
    """Return half of what a person says that the storage reads, or the slowest speed that is documented."""
    machines = design.config.machines
    given = machines.storage if isinstance(machines, BareMetalMachines) else None
    return given.read / 2 / 2**20 if given and given.read else SLOWEST_GPU_READ

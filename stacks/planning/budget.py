"""Deadlines: bytes at the slowest speed that is still healthy, and an allowance for what is not bytes."""

from stacks.catalog import Engine
from stacks.planning.memory import mib
from stacks.planning.plan import Budget

# MiB/s. A mirror or disk below these is a fault to look for, not a reason to wait.
SLOWEST_FETCH = 20
SLOWEST_READ = 50

# Seconds. Measured on two idle cores: engine installed in 35, first completion 62 after the start; on two
# busy ones the completion took 219. A rank that fails ends the wait at once, so room costs nothing.
PREPARE_ALLOWANCE = 300
ENGINE_ALLOWANCE = 300
CHECKPOINT_ALLOWANCE = 120
SERVE_ALLOWANCE = 180
START_ALLOWANCE = 600


def budget(checkpoint_bytes: int, engine: Engine) -> Budget:
    """Return the deadlines of a fleet in seconds."""
    checkpoint = mib(checkpoint_bytes)
    return Budget(
        prepare=PREPARE_ALLOWANCE,
        engine=engine.facts.disk_mib / SLOWEST_FETCH + ENGINE_ALLOWANCE,
        checkpoint=checkpoint / SLOWEST_FETCH + CHECKPOINT_ALLOWANCE,
        serve=SERVE_ALLOWANCE,
        ready=checkpoint / SLOWEST_READ + START_ALLOWANCE,
    )

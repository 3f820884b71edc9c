"""The lab's wheel mirror: every wheel of the locks of engines for the CPU, each checked against its hash."""

from components.machines.lab import cache
from stacks import catalog
from stacks.catalog import Lock
from tools import mirror
from tools.bootstrap.work import CHECKOUT, alone
from tools.lock.wheels import Target


def ensure() -> None:
    """Download what is missing of each engine's mirror; a broken download goes on where it stopped.

    Raises:
        CatalogError: The catalog is wrong.
        Refusal: A wheel could not be had, or is not the one that the lock names.
    """
    for engine in catalog.load().engines.values():
        if engine.facts.variant != "cpu":
            continue
        for arch, lock in engine.locks.items():
            if isinstance(lock, Lock) and not cache.wheels(lock.digest).is_dir():
                target = Target(engine.facts.python, engine.facts.locks[arch].platform)
                with alone():
                    mirror.ensure(cache.wheels(lock.digest), (CHECKOUT / lock.path).read_text(), target)

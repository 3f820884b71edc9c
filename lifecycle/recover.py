"""Clear up after a run that was killed: what it held, what it left running, what it left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.fleet_name import fleet_id
from lifecycle import files, locks, on_hosts, orphans, pending
from lifecycle.environment import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lifecycle.stack import Stack


def recover(stack: Stack, *, owner_is_dead: bool = False) -> Iterator[str]:
    """Do all of it, and yield a line for each thing that was found and done.

    It makes nothing twice and loses nothing, and may be run again at any moment.

    Args:
        stack: The stack; nothing is left to do for one that its backend does not have.
        owner_is_dead: A person says that an owner who cannot be seen from here is dead.

    Raises:
        Refusal: The owner of the lock lives or may live, or the state file is damaged.
    """
    yield from free(stack, owner_is_dead=owner_is_dead)
    if not stack.exists():
        return
    state = stack.export()
    yield from pending.settle(stack, state)
    hosts = on_hosts.hosts_of(state)
    fleet = on_hosts.fleet_of(state) or fleet_id(stack.name, CHECKOUT)
    yield from on_hosts.release(fleet, hosts, owner_is_dead=owner_is_dead)


def free(stack: Stack, *, owner_is_dead: bool = False) -> Iterator[str]:
    """Do the first half: end what works for a dead engine, and then give the stack free.

    Raises:
        Refusal: As `recover`.
    """
    locks.judged(stack, owner_is_dead=owner_is_dead)
    yield from orphans.end(stack)
    yield from locks.clear(stack, owner_is_dead=owner_is_dead)
    yield from files.clear_notes(stack)
    files.require_whole(stack)

"""Which machines of one list are not in another one. Pure."""

from collections.abc import Iterable
from typing import TypeVar

from components.hosts import openssh
from components.hosts.record import Contact, Hop

HostT = TypeVar("HostT", bound=Contact)


def leaving(old: Iterable[HostT], new: Iterable[Hop]) -> list[HostT]:
    """Return the machines that are gone: none is where they were, and none has their key.

    Their names do not count: a machine that has another one is there still, and one whose name another
    machine has by now is gone.
    """
    now = {sign for host in new for sign in _signs(host)}
    return [host for host in old if not _signs(host) & now]


def _signs(host: Hop) -> set[str]:
    return {openssh.known_name(host), host.host_key}

"""The ranks of a fleet, seen and stopped over SSH."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from components.readiness import unit
from components.readiness.verdict import Seen
from components.readiness.watch import Watch, in_parallel
from stacks.errors import Unreachable

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from components.hosts.record import HostRecord
    from components.readiness.unit import Unit

LOOK_SECONDS = 10.0
STOP_SECONDS = 40.0  # more than the unit's own time limit for stopping


def over_ssh(host: HostRecord, command: str, seconds: float) -> str:
    """Run a command on a host and return its standard output.

    Raises:
        Unreachable: The host did not answer in time.
    """
    from components.hosts import ssh  # noqa: PLC0415 -- paramiko is heavy and a preview needs none of it

    return ssh.run(host, command, deadline=seconds).out


class Ranks:
    """One rank per host, watched from the start on."""

    def __init__(self, hosts: Sequence[HostRecord]) -> None:
        """Start to watch hosts, given in rank order."""
        self._hosts = tuple(hosts)
        self._watches = [Watch(self._looker(host)) for host in self._hosts]

    def seen(self) -> list[Seen]:
        """Return the latest sight of every rank, at once."""
        now = time.monotonic()
        watched = enumerate(zip(self._hosts, self._watches, strict=True))
        sights = [
            (rank, host.name, watch.sight or (None, None), now - watch.since)
            for rank, (host, watch) in watched
        ]
        return [Seen(rank, name, found, words, silent) for rank, name, (found, words), silent in sights]

    def examined(self, stop: threading.Event) -> list[Seen]:
        """Return every rank as it is now, with its journal; where a host does not answer, as it was."""
        found = in_parallel(
            ((rank, self._examiner(rank, host)) for rank, host in enumerate(self._hosts)), LOOK_SECONDS, stop
        )
        return [found.get(before.rank, before) for before in self.seen()]

    def stop(self, stop: threading.Event) -> list[str]:
        """Stop every rank; return the names of the hosts that did not confirm it.

        systemd goes on stopping them where this returns early.
        """
        stopped = in_parallel(((host.name, self._stopper(host)) for host in self._hosts), STOP_SECONDS, stop)
        return [host.name for host in self._hosts if host.name not in stopped]

    def close(self) -> None:
        """Watch no more."""
        for watch in self._watches:
            watch.close()

    def _looker(self, host: HostRecord) -> Callable[[], tuple[Unit, str | None]]:
        def look() -> tuple[Unit, str | None]:
            answer = over_ssh(host, unit.look_command(), LOOK_SECONDS)
            if "LoadState=" not in answer:
                raise Unreachable(f"host {host.name} answers, but systemd does not say how its rank is")
            return unit.looked(answer)

        return look

    def _examiner(self, rank: int, host: HostRecord) -> Callable[[], Seen]:
        def examine() -> Seen:
            found, words = self._looker(host)()
            seen = Seen(rank, host.name, found, words)
            if not found.invocation:
                return seen
            printed = over_ssh(host, unit.journal_command(found.invocation), LOOK_SECONDS)
            return dataclasses.replace(seen, journal=unit.journal_lines(printed))

        return examine

    def _stopper(self, host: HostRecord) -> Callable[[], str]:
        return lambda: over_ssh(host, unit.STOP, STOP_SECONDS)

"""What a fleet left on the machines that a person listed, whether a state knows it or not."""

from __future__ import annotations

import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from components.hosts import markers
from components.machines.baremetal import asking, lease
from stacks.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.hosts.record import Contact, HostRecord
    from components.plugin.kind import Run

_SECONDS: Final = 15.0


@dataclass(frozen=True)
class Left:
    """What a fleet left on one machine.

    Attributes:
        host: The machine.
        leased: Whether it holds it.
        folder: Whether its folder is there, and with it what it set up; of no interest where another fleet
            holds the machine, which takes it away itself (`take_over`).
        silent: Why the machine could not be asked; empty where it could.
    """

    host: HostRecord
    leased: bool = False
    folder: bool = False
    silent: str = ""


class BareMetal:
    """The side of a person's own machines; fulfils `components.machines.provider.Provider`."""

    def list_things(self, fleet: str, hosts: Sequence[Contact]) -> Sequence[str]:
        """Return leases and folders of a fleet, and the machines that could not be asked for them."""
        return [thing for left in _look(fleet, hosts) for thing in _things(fleet, left)]

    def remove_strays(self, fleet: str, hosts: Sequence[Contact], run: Run) -> None:
        """Take back what the fleet set up, but for checkpoints, and then give the machines back."""
        from components.hosts.playbook import take_back  # noqa: PLC0415 -- only where something is left

        found = _look(fleet, hosts)
        if set_up := [left.host for left in found if left.folder]:
            take_back(fleet, set_up, run)
        for left in found:
            if left.leased:
                asking.give(left.host, "fleet", fleet)


def _things(fleet: str, left: Left) -> list[str]:
    where = asking.called(left.host)
    if left.silent:
        return [f"maybe the lease of {where}, which cannot be asked ({left.silent})"]
    return [
        *([f"what it set up on {where}, with /var/lib/rackstack/{fleet}"] if left.folder else []),
        *([f"the lease {markers.LEASE} of {where}"] if left.leased else []),
    ]


def _look(fleet: str, hosts: Sequence[Contact]) -> list[Left]:
    if not hosts:
        return []
    with ThreadPoolExecutor(len(hosts)) as pool:
        return list(pool.map(lambda host: _left(fleet, host.record()), hosts))


def _left(fleet: str, host: HostRecord) -> Left:
    from components.hosts import ssh  # noqa: PLC0415 -- brings paramiko, which only a look needs

    folder = shlex.quote(f"/var/lib/rackstack/{fleet}")
    command = f"ls -d {folder} 2>/dev/null; {markers.lease_command()}"
    try:
        answer = ssh.run(host, command, deadline=_SECONDS)
    except EffectError as silent:
        return Left(host, silent=str(silent))
    if answer.code or markers.SEPARATOR not in answer.out:
        return Left(host, silent=(answer.err.strip().splitlines() or ["it said nothing"])[-1])
    found, text = answer.out.split(markers.SEPARATOR, 1)
    held = lease.read(text)
    leased = held is not None and held.fleet == fleet
    # A lease that cannot be read may be anybody's.
    ours = leased or not text.strip()
    return Left(host, leased=leased, folder=ours and bool(found.strip()))

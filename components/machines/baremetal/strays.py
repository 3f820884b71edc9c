"""What a fleet left on the machines that a person listed, whether a state knows it or not."""

from __future__ import annotations

import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from components.hosts import markers
from components.machines.baremetal import asking, lease
from components.machines.provider import Former
from stacks.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from components.hosts.record import Contact, HostRecord
    from components.plugin.kind import Run

_SECONDS: Final = 15.0


@dataclass(frozen=True)
class Left:
    """What a fleet left on one machine.

    Attributes:
        host: The machine.
        claim: Incarnation of its lease there; empty where it has none.
        folder: Whether its folder is there, and with it what it set up; of no interest where another fleet
            holds the machine, which takes it away itself (`take_over`).
        silent: Why the machine could not be asked; empty where it could.
    """

    host: HostRecord
    claim: str = ""
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
        for apart in _by_name([left.host for left in found if left.folder]):
            take_back(fleet, apart, run)
        for left in found:
            if left.claim:
                asking.give(left.host, "fleet", fleet)

    def former(self, fleet: str, hosts: Sequence[Contact], members: Sequence[Contact]) -> Former:
        """Ask all of them: a machine may be a member by another address, which its claim tells."""
        if not hosts:
            return Former((), ())
        found, now = dict(zip(hosts, _look(fleet, hosts), strict=True)), _look(fleet, members)
        claims = {each.claim for each in now if each.claim}
        silent = [host for host, left in found.items() if left.silent]
        held = [
            host for host, left in found.items() if left.claim not in claims and (left.claim or left.folder)
        ]
        return Former([*silent, *held], []) if any(each.silent for each in now) else Former(silent, held)


def _by_name(hosts: Sequence[HostRecord]) -> Iterator[list[HostRecord]]:
    """Yield the hosts so that none has another one's name: Ansible would take those for one."""
    while hosts:
        apart = {host.name: host for host in reversed(hosts)}
        yield [host for host in hosts if host is apart[host.name]]
        hosts = [host for host in hosts if host is not apart[host.name]]


def _things(fleet: str, left: Left) -> list[str]:
    where = left.host.called
    if left.silent:
        return [f"maybe the lease of {where}, which cannot be asked ({left.silent})"]
    return [
        *([f"what it set up on {where}, with /var/lib/rackstack/{fleet}"] if left.folder else []),
        *([f"the lease {markers.LEASE} of {where}"] if left.claim else []),
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
    claim = held.incarnation if held is not None and held.fleet == fleet else ""
    # A lease that cannot be read may be anybody's.
    ours = claim or not text.strip()
    return Left(host, claim=claim, folder=bool(ours and found.strip()))

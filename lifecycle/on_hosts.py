"""What a killed run leaves on the hosts: its locks, and long steps that nobody waits for any more."""

from __future__ import annotations

import json
import os
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from components import processes
from components.fleet_inventory import Inventory
from components.hosts.playbook import PLAYBOOKS
from components.hosts.record import HostRecord
from stacks.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ANSWER_SECONDS: Final = 6.0
STOP_SECONDS: Final = 20.0
STEPPING: Final = ("engine", "checkpoint")
"""Playbooks with a long step, in the role of their name."""

_ROLES: Final = PLAYBOOKS / "roles"
_LOCK_PROGRAM: Final = _ROLES / "lock/files/lock.py"
_RECORD: Final = {name for name, field in HostRecord.model_fields.items() if field.is_required()}
_SEPARATOR: Final = "\x1e"


@dataclass(frozen=True)
class HostLock:
    """A fleet's lock on a host.

    Attributes:
        name: The playbook that holds it.
        owner: Nonce of the run.
        controller: The process that runs it, as `machine/boot/pid/start`.
    """

    name: str
    owner: str
    controller: str

    @property
    def process(self) -> str:
        """Return the controlling process as the middle of a sentence."""
        machine, _, pid, _ = self.controller.split("/")
        return f"process {pid} on {machine}"


def hosts_of(state: Mapping[str, Any]) -> list[HostRecord]:
    """Return every host that an exported state knows, from its machines and its playbooks."""
    found: dict[str, HostRecord] = {}
    for resource in state["deployment"].get("resources") or ():
        outputs, inputs = resource.get("outputs") or {}, resource.get("inputs") or {}
        for record in (outputs.get("record"), *(inputs.get("hosts") or ())):
            if isinstance(record, dict) and set(record) >= _RECORD:
                host = HostRecord.model_validate(record)
                found.setdefault(host.name, host)
    return list(found.values())


def fleet_of(state: Mapping[str, Any]) -> str | None:
    """Return the fleet that an exported state is of; None where it records none.

    The fleet's name tells checkouts apart, and a shared backend is worked on from several.
    """
    for resource in state["deployment"].get("resources") or ():
        # An inventory that was replaced stays in the state until it is deleted.
        if resource.get("type") == Inventory.token and not resource.get("delete"):
            return str(resource["inputs"]["fleet"])
    return None


def release(fleet: str, hosts: Sequence[HostRecord], *, owner_is_dead: bool = False) -> list[str]:
    """Release the locks of ended runs on all hosts and stop their steps; one line per thing done.

    Hosts that do not answer within seconds are named, and nobody waits for them.

    Args:
        fleet: Identity of the fleet.
        hosts: Where to look.
        owner_is_dead: A person says that runs of other machines have ended.
    """
    if not hosts:
        return []
    with ThreadPoolExecutor(len(hosts)) as pool:
        told = pool.map(lambda host: _release(fleet, host, owner_is_dead=owner_is_dead), hosts)
    return [line for lines in told for line in lines]


def ended(controller: str) -> bool | None:
    """Return whether a run's process has ended; None for one of another machine.

    The same judgement as `playbooks/lookup_plugins/controller.py`.
    """
    machine, boot, pid, born = controller.split("/")
    if machine != os.uname().nodename:
        return None
    seen = processes.stat(int(pid))
    here = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return boot != here or seen is None or str(seen.born) != born


def looked(answer: str) -> tuple[list[HostLock], set[str]]:
    """Return the locks and the units that a look printed."""
    *locks, units = answer.split(_SEPARATOR)
    found = [json.loads(each) for each in locks if each.strip()]
    return [HostLock(each["name"], each["owner"], each["controller"]) for each in found], set(units.split())


def _release(fleet: str, host: HostRecord, *, owner_is_dead: bool) -> list[str]:
    try:
        return list(_released(fleet, host, owner_is_dead=owner_is_dead))
    except EffectError as silent:
        return [f"not looked at: {silent}"]
    except (KeyError, ValueError) as odd:
        return [
            f"host {host.name}: its locks in /run/lock/rackstack/{fleet} cannot be read ({odd}): remove them"
        ]


def _released(fleet: str, host: HostRecord, *, owner_is_dead: bool) -> Iterator[str]:
    from components.hosts import ssh  # noqa: PLC0415 -- paramiko is heavy, and most recoveries need none

    locks, units = looked(ssh.run(host, _look(fleet), deadline=ANSWER_SECONDS).out)
    at_work = set()
    for lock in locks:
        over = ended(lock.controller)
        if over is False or (over is None and not owner_is_dead):
            at_work.add(lock.name)
            yield f"host {host.name}: left the lock of {lock.name} to {lock.process}, {_not_ended(over)}"
            continue
        words = shlex.join(["release", fleet, lock.name, lock.owner])
        program = _LOCK_PROGRAM.read_text(encoding="utf-8")
        ssh.run(host, f"/usr/bin/python3 - {words}", stdin=program, deadline=ANSWER_SECONDS)
        yield f"host {host.name}: released the lock of {lock.name}, whose run has ended ({lock.process})"
    for name in STEPPING:
        unit = _step_unit(name)
        if f"{unit}.service" in units and name not in at_work:
            held = ssh.run(host, _stop(name, unit), deadline=STOP_SECONDS).out.strip()
            yield f"host {host.name}: {_stopped(unit, held)}"


@cache
def _step_unit(role: str) -> str:
    named = yaml.safe_load((_ROLES / role / "vars/main.yml").read_text(encoding="utf-8"))
    return str(named[f"{role}_unit"])


def _not_ended(over: bool | None) -> str:  # noqa: FBT001 -- the answer of `ended`
    return (
        "which lives" if over is False else "which cannot be seen from here (`--owner-is-dead` if it ended)"
    )


def _look(fleet: str) -> str:
    folder = shlex.quote(f"/run/lock/rackstack/{fleet}")
    return (
        f"for file in {folder}/*.json; do cat \"$file\" 2>/dev/null && printf '\\036'; done; "
        "systemctl list-units --all --plain --no-legend --no-pager 'rackstack-*.service' | cut -d' ' -f1"
    )


def _stop(name: str, unit: str) -> str:
    """Return the command that ends a step within ten seconds, as the unit itself allows, and forgets it.

    It prints the lock of its playbook instead, where anybody holds one by then: a run that has begun since
    the look, or another fleet's, which is not ours to judge.
    """
    return (
        f'for file in /run/lock/rackstack/*/{name}.json; do [ -e "$file" ] && echo "$file" && exit; done; '
        f"systemctl stop {unit}.service; systemctl reset-failed {unit}.service 2>/dev/null; "
        f"rm -f /run/{unit}.log"
    )


def _stopped(unit: str, held: str) -> str:
    if held:
        return f"left {unit}.service to the run that holds {held}; remove that file if the run has ended"
    return f"stopped {unit}.service, which nobody waits for"

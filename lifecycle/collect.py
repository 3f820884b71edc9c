"""A debug bundle by command: what state and hosts show, with all secrets of the state taken out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from components import bundles
from components.fleet_name import fleet_id
from components.plugin.redaction import Redactor
from components.plugin.wire import SECRET, SIGNATURE
from lifecycle import files, locks, on_hosts
from lifecycle.environment import CHECKOUT
from stacks import catalog, config, planning, report
from stacks.errors import RackstackError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from lifecycle.stack import Stack

_EMPTY: Final[Mapping[str, Any]] = {"deployment": {}}


def bundle(stack: Stack) -> Path:
    """Write a bundle and return it.

    Raises:
        Refusal: The backend does not answer.
        OSError: It cannot be written.
    """
    state = stack.export(secrets=True) if stack.exists() else _EMPTY
    redactor = Redactor()
    redactor.learn(secrets_in(state))
    found = {
        "state.txt": _resources(state),
        "lock.txt": "".join(f"{each.owner}: {each.standing.value}\n" for each in _locks(stack)),
        **dict(_plan(stack.name)),
    }
    fleet = on_hosts.fleet_of(state) or fleet_id(stack.name, CHECKOUT)
    return bundles.write(fleet, "asked", on_hosts.hosts_of(state), found, redactor.scrub)


def secrets_in(exported: Any) -> Iterator[str]:
    """Yield every text below a secret of a state that was exported with its secrets shown."""
    if isinstance(exported, dict):
        if exported.get(SIGNATURE) == SECRET:
            yield from _texts(json.loads(exported.get("plaintext", "null")))
            return
        exported = list(exported.values())
    if isinstance(exported, list):
        for each in exported:
            yield from secrets_in(each)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _locks(stack: Stack) -> list[locks.Lock]:
    return locks.held(stack) if files.root(stack.backend) else []


def _resources(state: Mapping[str, Any]) -> str:
    """Return one line per resource: its name, type and id, whether it is well, and what is open."""
    deployment = state["deployment"]
    lines = [
        f"{each['urn']} {each.get('id', '-')} {'; '.join(each.get('initErrors') or ()) or 'well'}"
        for each in deployment.get("resources") or ()
    ]
    lines += [
        f"open: {each['type']} {each['resource']['urn']}"
        for each in deployment.get("pending_operations") or ()
    ]
    return "\n".join(lines or ["the backend holds no state of this stack"]) + "\n"


def _plan(stack: str) -> Iterator[tuple[str, str]]:
    """Yield the plan as the stack file has it today; what stands against it where it is none."""
    file = CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml"
    try:
        fleet = config.parse_file(file, f"stacks/{file.name}")
        yield "plan-today.json", report.json(planning.plan(fleet, catalog.load(), stack))
    except RackstackError as error:
        yield "plan-today.txt", f"{error}\n"

"""Which class answers for which type token; a class is imported when it is first needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from stacks.errors import Refusal

if TYPE_CHECKING:
    from components.plugin.kind import Kind

KINDS: Final = {
    "rack:fleet:Inventory": "components.fleet_inventory:Inventory",
    "rack:baremetal:Host": "components.machines.baremetal.host:Host",
    "rack:lab:Network": "components.machines.lab.network:Network",
    "rack:lab:Host": "components.machines.lab.host:Host",
    "rack:lab:Origin": "components.machines.lab.origin:Origin",
    "rack:hosts:Playbook": "components.hosts.playbook:Playbook",
    "rack:gateway:Certificate": "components.gateway.certificate:Certificate",
    "rack:serving:ApiKey": "components.serving.key:ApiKey",
    "rack:readiness:Gates": "components.readiness.gates.kind:Gates",
    "rack:readiness:Collectives": "components.readiness.gates.proof:Collectives",
    "rack:readiness:Completion": "components.readiness.completion:Completion",
}


@cache
def kind_of(token: str) -> Kind[Any, Any]:
    """Return the resource kind of a type token.

    Raises:
        Refusal: No kind has this token.
    """
    if token not in KINDS:
        raise Refusal(
            f"{token}: the plugin rack has no such resource kind; it has {', '.join(sorted(KINDS))}"
        )
    module, name = KINDS[token].split(":")
    made: Kind[Any, Any] = getattr(import_module(module), name)()
    return made

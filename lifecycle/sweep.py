"""Remove what exists under a fleet's name when the state that knew it is lost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from components.fleet_inventory import Inventory, InventoryInputs, InventoryOutputs
from components.machines.contact import contact
from components.machines.provider import provider
from stacks.config import BareMetalMachines, LabMachines
from stacks.errors import Refusal

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from lifecycle.stack import Stack

_ROOT: Final = "pulumi:pulumi:Stack"


class Told:
    """What the inventory may use of an engine, without one; fulfils `components.plugin.kind.Run`."""

    name = "inventory"
    deadline = None

    def __init__(self, stop: threading.Event, tell: Callable[[str], None]) -> None:
        self.stop = stop
        self.progress = self.note = self.warn = tell


def inventory(fleet: str, machines: LabMachines | BareMetalMachines) -> InventoryInputs:
    """Return the record of a fleet as its state would hold it, from the machines of its stack file.

    Raises:
        Refusal: The stack file lists machines and no key that opens them.
    """
    if isinstance(machines, LabMachines) or not machines.hosts:
        return InventoryInputs(fleet=fleet, provider=machines.provider)
    if machines.identity is None:
        raise Refusal("machines.identity is not given; write the path of the private key that opens them")
    hosts = [
        contact(host.name or f"machines.hosts[{index}]", host, machines.identity, machines.jump)
        for index, host in enumerate(machines.hosts)
    ]
    return InventoryInputs(fleet=fleet, provider=machines.provider, hosts=hosts)


def sweep(record: InventoryInputs, run: Told, *, sure: bool) -> Iterator[str]:
    """Remove everything of a fleet, as the last step of a destroy does; yield a line for what was done.

    Args:
        record: The fleet, as its state would hold it.
        run: Where progress is told.
        sure: Do not ask.

    Raises:
        Refusal: Nobody says yes, or something does not go.
    """
    fleet = record.fleet
    found = provider(record.provider).list_things(fleet, record.hosts)
    if not found:
        return
    for each in found:
        run.note(f"{fleet} has: {each}")
    if not sure:
        _require_yes(fleet, len(found))
    Inventory().delete(record, InventoryOutputs(incarnation="lost"), run)
    yield f"removed {len(found)} things of fleet {fleet}; nothing is left under its name"


def require_lost(stack: Stack) -> None:
    """Refuse to sweep under the feet of a state that still knows the fleet.

    Raises:
        Refusal: The state holds resources.
    """
    if not stack.exists():
        return
    resources = stack.export()["deployment"].get("resources") or ()
    held = [each for each in resources if each["type"] != _ROOT]
    if held:
        raise Refusal(
            f"stack {stack.name}: its state holds {len(held)} resources, so it is not lost: "
            f"`make down STACK={stack.name}` takes them away and then looks for what no state knows"
        )


def _require_yes(fleet: str, count: int) -> None:
    if not sys.stdin.isatty():
        raise Refusal(f"fleet {fleet}: nobody is here to say yes to {count} things: look, and add --yes")
    if input(f"Remove these {count} things for good? Type the fleet's name, {fleet}: ").strip() != fleet:
        raise Refusal(f"fleet {fleet}: left as it is")

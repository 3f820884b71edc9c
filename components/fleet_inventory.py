"""`rack:fleet:Inventory`: first in, last out; the proof that nothing of a fleet is left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from pydantic import Field

from components.hosts.record import Contact  # noqa: TC001 -- pydantic reads it at run time
from components.machines.provider import PROVIDERS, fleet_faults, provider
from components.plugin.kind import Inputs, Kind, Outputs, Run, Seen, new_incarnation
from stacks.errors import EffectError, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

SECOND_LOOK: Final = 2.0
"""Seconds until the second look: a plugin whose engine was killed may still have been making something."""
LOOKS: Final = 4


class InventoryInputs(Inputs):
    """A fleet's record.

    Attributes:
        fleet: Name of the fleet.
        provider: Who provides its machines.
        hosts: The machines that a person listed; empty where the provider makes them.
    """

    fleet: str
    provider: str
    hosts: list[Contact] = Field(default=[])


class Inventory(Kind[InventoryInputs, Outputs]):
    """The record of a fleet: everything depends on it, so it is made first and deleted last."""

    token = "rack:fleet:Inventory"  # noqa: S105 -- a type token
    inputs = InventoryInputs
    outputs = Outputs
    replace_on = frozenset({"fleet", "provider"})

    def identity(self, inputs: InventoryInputs) -> str:
        """Return the fleet's name."""
        return inputs.fleet

    def faults(self, inputs: InventoryInputs) -> Sequence[str]:
        """Refuse a name that is none, and an unknown provider."""
        faults = list(fleet_faults(inputs.fleet))
        if inputs.provider in PROVIDERS:
            return faults
        return [
            *faults,
            f"provider {inputs.provider!r}: it is not known; take one of: {', '.join(PROVIDERS)}",
        ]

    def create(self, inputs: InventoryInputs, run: Run) -> Outputs:
        """Record the fleet; nothing is made for it."""
        del inputs, run
        return Outputs(incarnation=new_incarnation())

    def read(self, inputs: InventoryInputs, outputs: Outputs, run: Run) -> Seen[Outputs]:
        """Return the record: it is there as long as the state holds it."""
        del inputs, run
        return Seen(outputs)

    def update(self, old: InventoryInputs, new: InventoryInputs, outputs: Outputs, run: Run) -> Outputs:
        """Keep another list of machines."""
        del old, new, run
        return outputs

    def delete(self, inputs: InventoryInputs, outputs: Outputs, run: Run) -> None:
        """Remove the strays of the fleet, and look again until nothing is left.

        Raises:
            Refusal: Something is left; the sentence names it.
        """
        del outputs
        machines = provider(inputs.provider)
        trouble = ""
        for look in range(LOOKS):
            left = machines.list_things(inputs.fleet, inputs.hosts)
            if not left:
                return
            run.note(f"removing what no state knows: {', '.join(left)}")
            try:
                machines.remove_strays(inputs.fleet, inputs.hosts, run)
            except EffectError as error:
                trouble = f" ({error})"
            time.sleep(SECOND_LOOK if look < LOOKS - 1 else 0)
        if left := machines.list_things(inputs.fleet, inputs.hosts):
            raise Refusal(
                f"fleet {inputs.fleet} still has: {', '.join(left)}{trouble}; end what holds it and "
                "destroy again"
            )

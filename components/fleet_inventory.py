"""`rack:fleet:Inventory`: first in, last out; the proof that nothing of a fleet is left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from pydantic import Field

from components.hosts.leaving import leaving
from components.hosts.record import Contact  # noqa: TC001 -- pydantic reads it at run time
from components.machines.provider import PROVIDERS, fleet_faults, provider
from components.plugin.kind import Inputs, Kind, Outputs, Run, Seen, new_incarnation
from stacks.errors import EffectError, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

SECOND_LOOK: Final = 2.0
"""Seconds until the second look: a plugin whose engine was killed may still have been making something."""
LOOKS: Final = 4
_HELD: Final = "it was silent when it left the list, and is held still: `up` gives it back"


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


class InventoryOutputs(Outputs):
    """What else is known of a fleet.

    Attributes:
        left: Machines that did not answer when they left the list, and that the fleet may hold still.
    """

    left: list[Contact] = Field(default=[])


class Inventory(Kind[InventoryInputs, InventoryOutputs]):
    """The record of a fleet: everything depends on it, so it is made first and deleted last."""

    token = "rack:fleet:Inventory"  # noqa: S105 -- a type token
    inputs = InventoryInputs
    outputs = InventoryOutputs
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

    def create(self, inputs: InventoryInputs, run: Run) -> InventoryOutputs:
        """Record the fleet; nothing is made for it."""
        del inputs, run
        return InventoryOutputs(incarnation=new_incarnation())

    def read(self, inputs: InventoryInputs, outputs: InventoryOutputs, run: Run) -> Seen[InventoryOutputs]:
        """Return the record, which is there as long as the state holds it, and who is not given back."""
        del run
        silent, held = provider(inputs.provider).former(inputs.fleet, outputs.left, inputs.hosts)
        # Who is silent still is kept and not told again: such a machine may well be gone for good.
        drift = {each.called: {"lease": _HELD} for each in held}
        return Seen(outputs.model_copy(update={"left": [*silent, *held]}), drift)

    def update(
        self, old: InventoryInputs, new: InventoryInputs, outputs: InventoryOutputs, run: Run
    ) -> InventoryOutputs:
        """Keep another list of machines; give back who did not answer when it left the last one."""
        machines = provider(new.provider)
        silent, held = machines.former(new.fleet, leaving(outputs.left, new.hosts), new.hosts)
        # Who leaves now and answers is given back by its own resource, whoever else is silent.
        now = machines.former(new.fleet, leaving(old.hosts, new.hosts), []).silent
        return outputs.model_copy(update={"left": [*silent, *_not_given(new, held, run), *now]})

    def delete(self, inputs: InventoryInputs, outputs: InventoryOutputs, run: Run) -> None:
        """Remove the strays of the fleet, and look again until nothing is left.

        Raises:
            Refusal: Something is left; the sentence names it.
        """
        machines, hosts = provider(inputs.provider), [*inputs.hosts, *outputs.left]
        trouble = ""
        for look in range(LOOKS):
            left = machines.list_things(inputs.fleet, hosts)
            if not left:
                return
            run.note(f"removing what no state knows: {', '.join(left)}")
            try:
                machines.remove_strays(inputs.fleet, hosts, run)
            except EffectError as error:
                trouble = f" ({error})"
            time.sleep(SECOND_LOOK if look < LOOKS - 1 else 0)
        if left := machines.list_things(inputs.fleet, hosts):
            raise Refusal(
                f"fleet {inputs.fleet} still has: {', '.join(left)}{trouble}; end what holds it and "
                "destroy again"
            )


def _not_given(inputs: InventoryInputs, hosts: Sequence[Contact], run: Run) -> Sequence[Contact]:
    """Give machines back that left the list; return them where that fails, which holds nothing else up."""
    if not hosts:
        return ()
    try:
        provider(inputs.provider).remove_strays(inputs.fleet, hosts, run)
    except EffectError as error:
        run.warn(f"machines that left the list are not given back yet: {error}")
        return hosts
    run.note(f"given back, after they had left the list: {', '.join(host.called for host in hosts)}")
    return ()

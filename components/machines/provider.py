"""What each machine provider offers to the fleet's inventory, and which providers there are."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from components.hosts.record import Contact
    from components.plugin.kind import Run


class Former(NamedTuple):
    """Machines that are in a fleet's list no more, and of which not all is known to be well.

    Attributes:
        silent: Those that did not answer; all of them where one that is in the list did not, and may be one.
        held: Those that the fleet holds still, or has left something on.
    """

    silent: Sequence[Contact]
    held: Sequence[Contact]


class Provider(Protocol):
    """Finds and removes what exists under a fleet's name, whether a state knows it or not.

    Where to look: at machines of a person's own, which are given as `hosts`, or where the provider makes its
    own ones.
    """

    def list_things(self, fleet: str, hosts: Sequence[Contact]) -> Sequence[str]:
        """Return what exists under the fleet's name, one phrase per thing; empty when nothing is left."""

    def remove_strays(self, fleet: str, hosts: Sequence[Contact], run: Run) -> None:
        """Remove what `list_things` lists; what cannot be removed stays listed.

        Raises:
            EffectError: A thing is held by somebody else or does not go.
        """

    def former(self, fleet: str, hosts: Sequence[Contact], members: Sequence[Contact]) -> Former:
        """Say which of the machines that left the list, `members` by now, are not given back."""


_FLEET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

PROVIDERS: Final = {
    "baremetal": "components.machines.baremetal.strays:BareMetal",
    "lab": "components.machines.lab.strays:Lab",
}


def provider(name: str) -> Provider:
    """Return the provider of this name, a key of `PROVIDERS`; its module is imported only now."""
    module, cls = PROVIDERS[name].split(":")
    made: Provider = getattr(import_module(module), cls)()
    return made


def fleet_faults(fleet: str) -> Iterator[str]:
    """Yield what is wrong with a fleet's name, which becomes part of folders, tags and unit names."""
    if not _FLEET.fullmatch(fleet):
        yield (
            f"fleet {fleet!r}: it must have at most 100 letters, digits, '.', '_' or '-' and start with a "
            "letter or digit; rename the stack"
        )

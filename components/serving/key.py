"""The API key of a fleet: generated once, kept in state as a secret."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, ClassVar

from pydantic import SecretStr

from components.plugin.kind import Inputs, Kind, Outputs, Seen, new_incarnation

if TYPE_CHECKING:
    from components.plugin.kind import Run

PREFIX = "rk-"
BYTES = 32


class KeyInputs(Inputs):
    """Which fleet the key opens.

    Attributes:
        fleet: The fleet's id.
    """

    fleet: str


class KeyOutputs(Outputs):
    """The key.

    Attributes:
        key: What a client sends as its bearer token.
    """

    key: SecretStr


class ApiKey(Kind[KeyInputs, KeyOutputs]):
    """A key that lives in state only; taint the resource to have a new one."""

    token = "rack:serving:ApiKey"  # noqa: S105 -- a type token, no secret
    inputs = KeyInputs
    outputs = KeyOutputs
    replace_on: ClassVar = frozenset({"fleet"})
    stable: ClassVar[frozenset[str]] = frozenset({"key"})

    def identity(self, inputs: KeyInputs) -> str:
        """Return the key's name."""
        return f"{inputs.fleet}-api-key"

    def create(self, inputs: KeyInputs, run: Run) -> KeyOutputs:
        """Make a key; one that was made by a killed run was never used."""
        del inputs, run
        return KeyOutputs(incarnation=new_incarnation(), key=SecretStr(PREFIX + secrets.token_urlsafe(BYTES)))

    def read(self, inputs: KeyInputs, outputs: KeyOutputs, run: Run) -> Seen[KeyOutputs]:
        """Return the key as it is: it exists nowhere but in state."""
        del inputs, run
        return Seen(outputs)

    def update(self, old: KeyInputs, new: KeyInputs, outputs: KeyOutputs, run: Run) -> KeyOutputs:
        """Keep the key."""
        del old, new, run
        return outputs

    def delete(self, inputs: KeyInputs, outputs: KeyOutputs, run: Run) -> None:
        """Forget the key with its state."""
        del inputs, outputs, run

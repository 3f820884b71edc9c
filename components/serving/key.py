"""The keys of a fleet: generated once, kept in state as secrets."""

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
    """Which key it is.

    Attributes:
        fleet: The fleet's id.
        name: What tells it from the fleet's other keys.
        serial: Another number makes another key.
    """

    fleet: str
    name: str
    serial: int


class KeyOutputs(Outputs):
    """The key.

    Attributes:
        key: What is sent as bearer token.
    """

    key: SecretStr


class ApiKey(Kind[KeyInputs, KeyOutputs]):
    """A key that lives in state only; raise its serial to have a new one."""

    token = "rack:serving:ApiKey"  # noqa: S105 -- a type token, no secret
    inputs = KeyInputs
    outputs = KeyOutputs
    replace_on: ClassVar = frozenset({"fleet", "name"})

    def identity(self, inputs: KeyInputs) -> str:
        """Return the key's name."""
        return f"{inputs.fleet}-{inputs.name}"

    def create(self, inputs: KeyInputs, run: Run) -> KeyOutputs:
        """Make a key; one that was made by a killed run was never used."""
        del inputs, run
        return KeyOutputs(incarnation=new_incarnation(), key=_new())

    def read(self, inputs: KeyInputs, outputs: KeyOutputs, run: Run) -> Seen[KeyOutputs]:
        """Return the key as it is: it exists nowhere but in state."""
        del inputs, run
        return Seen(outputs)

    def update(self, old: KeyInputs, new: KeyInputs, outputs: KeyOutputs, run: Run) -> KeyOutputs:
        """Make a new key where the serial is new."""
        del run
        return outputs if old.serial == new.serial else outputs.model_copy(update={"key": _new()})

    def delete(self, inputs: KeyInputs, outputs: KeyOutputs, run: Run) -> None:
        """Forget the key with its state."""
        del inputs, outputs, run


def _new() -> SecretStr:
    return SecretStr(PREFIX + secrets.token_urlsafe(BYTES))

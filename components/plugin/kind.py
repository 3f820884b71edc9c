"""The contract that every resource kind fulfils."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class Inputs(BaseModel):
    """What the program passes to a resource; unknown keys are refused. Secrets are `SecretStr`."""

    # defer_build: the program reads only the names of the fields, and every command would pay for the rest.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Outputs(BaseModel):
    """What a resource returns beside its inputs.

    Attributes:
        incarnation: The nonce written on the thing itself (marker, tag, lease) when it was made.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)

    incarnation: str


class Run(Protocol):
    """What one call of a kind may use of the engine."""

    @property
    def name(self) -> str:
        """Logical name of the resource."""

    @property
    def stop(self) -> threading.Event:
        """Set when the engine asks to finish (Ctrl-C); long work polls it and raises `Refusal`."""

    @property
    def deadline(self) -> float | None:
        """Seconds this call may take, from `CustomTimeouts`; None where the program set none."""

    def progress(self, message: str) -> None:
        """Show a line while the operation runs; it is not kept."""

    def note(self, message: str) -> None:
        """Show a line that stays under the resource."""

    def warn(self, message: str) -> None:
        """Show a warning that stays under the resource."""


Drift = dict[str, dict[str, str]]
"""What differs from the inputs, as host (or part) → role (or aspect) → one sentence."""

InputsT = TypeVar("InputsT", bound=Inputs)
OutputsT = TypeVar("OutputsT", bound=Outputs)


@dataclass(frozen=True)
class Seen(Generic[OutputsT]):
    """What a look at the world found: the outputs as they are, and what differs from the inputs."""

    outputs: OutputsT
    drift: Drift = field(default_factory=dict)


class Kind(ABC, Generic[InputsT, OutputsT]):
    """One kind of resource.

    Create means ensure: it looks first whether the thing with its deterministic name is there and adopts it.
    The id is `name/incarnation`. Delete touches nothing whose marker is not the incarnation it is given.
    Methods run in threads and may block; they raise only errors of `stacks.errors`.

    Attributes:
        token: The type token. It is identity: it never changes once a state holds it.
        inputs: The model of the inputs.
        outputs: The model of the outputs.
        replace_on: Inputs whose change needs a new thing; every other change is an update.
        stable: Outputs that no update changes, so that a preview can show them.
    """

    token: ClassVar[str]
    inputs: type[InputsT]
    outputs: type[OutputsT]
    replace_on: ClassVar[frozenset[str]] = frozenset()
    stable: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def identity(self, inputs: InputsT) -> str:
        """Return the deterministic name of the thing, from stack and logical name."""

    def faults(self, inputs: InputsT) -> Sequence[str]:
        """Return what the types cannot refuse: one sentence per fault. Pure; also called in previews."""
        del inputs
        return ()

    def foresee(self, inputs: InputsT) -> dict[str, Any]:
        """Return the outputs that are known before the thing is made. Pure; called in previews."""
        del inputs
        return {}

    def kept_by(self, changed: frozenset[str]) -> frozenset[str]:
        """Return the outputs that an update of these inputs does not change. Pure; called in previews."""
        del changed
        return self.stable

    @abstractmethod
    def create(self, inputs: InputsT, run: Run) -> OutputsT:
        """Ensure the thing.

        Raises:
            Refusal: Nothing was made.
            Incomplete: Something was made, but not well.
        """

    @abstractmethod
    def read(self, inputs: InputsT, outputs: OutputsT, run: Run) -> Seen[OutputsT] | None:
        """Look at the world. None when the thing is gone; unreachable is drift, never an exception."""

    @abstractmethod
    def update(self, old: InputsT, new: InputsT, outputs: OutputsT, run: Run) -> OutputsT:
        """Bring the thing to the new inputs; also called, with equal inputs, to mend what is unwell.

        The incarnation stays.

        Raises:
            Incomplete: The thing is not well now.
        """

    @abstractmethod
    def delete(self, inputs: InputsT, outputs: OutputsT, run: Run) -> None:
        """Remove the thing if it still is this incarnation; that it is gone already is no error."""

    def bundle(self, inputs: InputsT, found: Mapping[str, str], clean: Callable[[str], str]) -> Path | None:
        """Keep what can be seen after a failed create or update in one archive; None where there is nothing.

        Args:
            inputs: What was asked for.
            found: Name of a file → text, of what the call itself saw.
            clean: Takes secrets out of a text that is to be kept.
        """
        del inputs, found, clean
        return None


def new_incarnation() -> str:
    """Return a nonce for a thing that is being made."""
    return secrets.token_hex(6)

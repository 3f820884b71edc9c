"""A resource kind that lives in memory."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import SecretStr

from components.plugin.kind import Inputs, Kind, Outputs, Run, Seen
from stacks.errors import Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence


class ThingInputs(Inputs):
    """Inputs with everything that the wire can carry."""

    name: str
    size: int
    place: str = "here"
    key: SecretStr = SecretStr("")


class ThingOutputs(Outputs):
    """What a thing returns."""

    address: str
    token: SecretStr


class Thing(Kind[ThingInputs, ThingOutputs]):
    """A thing whose size decides: 0 is refused, 13 is made unwell, 99 is gone when looked at."""

    token: ClassVar[str] = "rack:test:Thing"  # noqa: S105 -- a type token
    inputs = ThingInputs
    outputs = ThingOutputs
    replace_on = frozenset({"place"})
    stable = frozenset({"address"})

    def identity(self, inputs: ThingInputs) -> str:
        """Return its name."""
        return inputs.name

    def faults(self, inputs: ThingInputs) -> Sequence[str]:
        """Refuse negative sizes."""
        return [f"size: {inputs.size}: must be at least 0"] if inputs.size < 0 else []

    def foresee(self, inputs: ThingInputs) -> dict[str, Any]:
        """Know the address from the name."""
        return {"address": f"{inputs.name}.example"}

    def create(self, inputs: ThingInputs, run: Run) -> ThingOutputs:
        """Make it."""
        run.progress(f"making {inputs.name}")
        if inputs.size == 0:
            raise Refusal(f"{inputs.key.get_secret_value()}: a thing needs a size; give it one")
        return self._well(inputs, "i1")

    def read(self, inputs: ThingInputs, outputs: ThingOutputs, run: Run) -> Seen[ThingOutputs] | None:
        """Look at it."""
        del run
        return None if inputs.size == 99 else Seen(outputs, {"here": {"size": "it shrank"}})

    def update(self, old: ThingInputs, new: ThingInputs, outputs: ThingOutputs, run: Run) -> ThingOutputs:
        """Bring it to a new size."""
        del old, run
        return self._well(new, outputs.incarnation)

    def delete(self, inputs: ThingInputs, outputs: ThingOutputs, run: Run) -> None:
        """Remove it."""
        run.note(f"removed {inputs.name} {outputs.incarnation}")

    def _well(self, inputs: ThingInputs, incarnation: str) -> ThingOutputs:
        made = ThingOutputs(
            incarnation=incarnation, address=f"{inputs.name}.example", token=SecretStr("t-secret")
        )
        if inputs.size == 13:
            raise Incomplete([f"{inputs.name}: size 13 is unlucky; take 14"], made)
        return made


class Slow(Thing):
    """A thing whose creation takes until somebody asks it to stop, or `size` seconds."""

    token: ClassVar[str] = "rack:test:Slow"  # noqa: S105 -- a type token

    def create(self, inputs: ThingInputs, run: Run) -> ThingOutputs:
        """Start a child, wait, and give up when asked to."""
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        run.note(f"child {child.pid}")
        stopped = run.stop.wait(inputs.size)
        child.kill()
        child.wait()
        if stopped:
            raise Refusal(f"{inputs.name}: stopped while it was made; run `pulumi up` again to go on")
        return self._well(inputs, "i1")

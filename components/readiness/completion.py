"""The proof that a fleet generates."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pydantic import SecretStr  # noqa: TC002 -- pydantic reads it at run time

from components.hosts.record import HostRecord  # noqa: TC001 -- pydantic reads it at run time
from components.plugin.kind import Inputs, Kind, Outputs, Seen, new_incarnation
from components.readiness import gate
from components.readiness.endpoint import Door, ask
from components.readiness.ranks import Ranks
from components.readiness.verdict import Answer, Failed, Ready, judge_answer
from stacks.errors import EffectError, Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from components.plugin.kind import Run

READ_SECONDS = 20.0


class CompletionInputs(Inputs):
    """Whom to ask.

    Attributes:
        fleet: The fleet's id.
        endpoint: Base URL of the API, ending in /v1.
        authority: The only authority whose certificates are trusted, as PEM; empty: those of this machine.
        through: The host through which SSH leads to a private gateway; None where it is reached itself.
        model: Served name of the model.
        api_key: The API key.
        hosts: The hosts in rank order.
        served: Nonces of the last runs of `serve` and `access`; others are gated again.
        deadline: Seconds until the first completion.
    """

    fleet: str
    endpoint: str
    authority: str
    through: HostRecord | None = None
    model: str
    api_key: SecretStr
    hosts: list[HostRecord]
    served: list[str]
    deadline: float


class CompletionOutputs(Outputs):
    """What was generated.

    Attributes:
        seconds: From the start of the wait to the completion.
        answer: The text of the completion.
    """

    seconds: float
    answer: str


class Completion(Kind[CompletionInputs, CompletionOutputs]):
    """A chat completion that was really answered; the last resource of every fleet."""

    token = "rack:readiness:Completion"  # noqa: S105 -- a type token, no secret
    inputs = CompletionInputs
    outputs = CompletionOutputs

    def identity(self, inputs: CompletionInputs) -> str:
        """Return the proof's name."""
        return f"{inputs.fleet}-completion"

    def create(self, inputs: CompletionInputs, run: Run) -> CompletionOutputs:
        """Wait until the fleet generates; where it cannot, stop all of it."""
        return _prove(inputs, new_incarnation(), run)

    def read(self, inputs: CompletionInputs, outputs: CompletionOutputs, run: Run) -> Seen[CompletionOutputs]:
        """Ask for one completion."""
        del run
        fault = _fault(inputs)
        return Seen(outputs, {"endpoint": {"completion": fault}} if fault else {})

    def update(
        self, old: CompletionInputs, new: CompletionInputs, outputs: CompletionOutputs, run: Run
    ) -> CompletionOutputs:
        """Prove it again."""
        del old
        try:
            return _prove(new, outputs.incarnation, run)
        except Refusal as refusal:
            # a plain refusal would leave the old proof in state as if it still held
            raise Incomplete([str(refusal)], outputs) from None

    def delete(self, inputs: CompletionInputs, outputs: CompletionOutputs, run: Run) -> None:
        """Leave everything: a proof holds nothing."""
        del inputs, outputs, run

    def bundle(self, inputs: CompletionInputs, found: Mapping[str, str], clean: Callable[[str], str]) -> Path:
        """Keep what all hosts show, and what the gate saw."""
        from components import bundles  # noqa: PLC0415 -- only a failure needs it

        return bundles.write(inputs.fleet, "completion", inputs.hosts, found, clean)


def _prove(inputs: CompletionInputs, incarnation: str, run: Run) -> CompletionOutputs:
    began = time.monotonic()
    ranks = Ranks(inputs.hosts)
    try:
        verdict = gate.wait(
            gate.Goal(inputs.endpoint, inputs.model, inputs.deadline),
            ranks,
            lambda: _asked(inputs, inputs.deadline),
            run,
        )
        if isinstance(verdict, Failed):
            raise Refusal(_ended(verdict, ranks, run))
    finally:
        ranks.close()
    return _proof(verdict, incarnation, time.monotonic() - began)


def _proof(ready: Ready, incarnation: str, seconds: float) -> CompletionOutputs:
    return CompletionOutputs(incarnation=incarnation, seconds=round(seconds, 1), answer=ready.text)


def _ended(failed: Failed, ranks: Ranks, run: Run) -> str:
    """Stop the fleet and return the sentence on why: survivors hold memory and look healthy.

    Where only the way to them is not well, the ranks go on: they may have read for an hour.
    """
    if failed.spared:
        return f"{failed.reason}; all ranks go on, mend this and run `pulumi up` again"
    run.progress(f"{failed.reason}; stopping all ranks")
    unconfirmed = ranks.stop(run.stop)
    stopped = f"all ranks but those on {', '.join(unconfirmed)} were" if unconfirmed else "all ranks were"
    return f"{failed.reason}; {stopped} stopped, mend this and run `pulumi up` again"


def _fault(inputs: CompletionInputs) -> str | None:
    """Return what is wrong with one completion, now."""
    try:
        answer = _asked(inputs, READ_SECONDS)
    except EffectError as silent:
        return str(silent)
    verdict = judge_answer(inputs.endpoint, inputs.model, answer)
    return verdict.reason if isinstance(verdict, Failed) else None


def _asked(inputs: CompletionInputs, seconds: float) -> Answer:
    door = Door(inputs.endpoint, inputs.authority, inputs.through)
    return ask(door, inputs.model, inputs.api_key.get_secret_value(), seconds)

"""The proof that a fleet generates."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pydantic import SecretStr  # noqa: TC002 -- pydantic reads it at run time

from components.hosts.record import HostRecord  # noqa: TC001 -- pydantic reads it at run time
from components.plugin.kind import Inputs, Kind, Outputs, Seen, new_incarnation
from components.readiness import gate
from components.readiness.endpoint import ask
from components.readiness.ranks import Ranks
from components.readiness.verdict import Failed, Ready, judge_answer
from stacks.errors import Incomplete, Refusal, Unreachable

if TYPE_CHECKING:
    from components.plugin.kind import Run

READ_SECONDS = 20.0


class CompletionInputs(Inputs):
    """Whom to ask.

    Attributes:
        fleet: The fleet's id.
        endpoint: Base URL of the API, ending in /v1.
        model: Served name of the model.
        api_key: The API key.
        hosts: The hosts in rank order.
        served: Nonce of the last run of `serve`; another one is gated again.
        deadline: Seconds until the first completion.
    """

    fleet: str
    endpoint: str
    model: str
    api_key: SecretStr
    hosts: list[HostRecord]
    served: str
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


def _prove(inputs: CompletionInputs, incarnation: str, run: Run) -> CompletionOutputs:
    began = time.monotonic()
    ranks = Ranks(inputs.hosts)
    try:
        verdict = gate.wait(
            gate.Goal(inputs.endpoint, inputs.model, inputs.deadline),
            ranks,
            lambda: ask(inputs.endpoint, inputs.model, inputs.api_key.get_secret_value(), inputs.deadline),
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
    """Stop the fleet and return the sentence on why: survivors hold memory and look healthy."""
    run.progress(f"{failed.reason}; stopping all ranks")
    unconfirmed = ranks.stop(run.stop)
    stopped = f"all ranks but those on {', '.join(unconfirmed)} were" if unconfirmed else "all ranks were"
    return f"{failed.reason}; {stopped} stopped, mend this and run `pulumi up` again"


def _fault(inputs: CompletionInputs) -> str | None:
    """Return what is wrong with one completion, now."""
    try:
        answer = ask(inputs.endpoint, inputs.model, inputs.api_key.get_secret_value(), READ_SECONDS)
    except Unreachable as silent:
        return str(silent)
    verdict = judge_answer(inputs.endpoint, inputs.model, answer)
    return verdict.reason if isinstance(verdict, Failed) else None

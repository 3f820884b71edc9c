"""Ready, waiting or failed, from what was seen. Pure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from components.readiness.journal import first_complaint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.readiness.journal import Line
    from components.readiness.unit import Unit

PATIENCE: Final = 30.0
"""Seconds for which a host may be silent before its rank counts as lost."""

CLOCKS_APART: Final = 5.0
"""Seconds by which the clocks of hosts and operator may differ."""

REPLACEMENT: Final = "\ufffd"
"""What a decoder puts where bytes are no text."""

RAW: Final = "/tokenize"
"""A path of the engine that no client needs: what comes back to it says whether all such paths are closed."""

_FINISHED = ("stop", "length")
_LONGEST = 200


@dataclass(frozen=True)
class Seen:
    """What was seen of one rank.

    Attributes:
        rank: Its number.
        host: The host that it runs on.
        unit: The state of its unit; None while the host does not answer.
        words: The last line of its journal.
        silent: Seconds for which the host has not answered.
        journal: What its run printed; empty until it is asked for.
    """

    rank: int
    host: str
    unit: Unit | None
    words: str | None = None
    silent: float = 0.0
    journal: tuple[Line, ...] = ()

    @property
    def lost(self) -> bool:
        """Return whether nothing more can be expected of this rank."""
        return self.silent >= PATIENCE if self.unit is None else not self.unit.alive


@dataclass(frozen=True)
class Answer:
    """What the endpoint answered to a chat completion.

    Attributes:
        status: HTTP status.
        body: The body as text.
        gateway: The gateway's word for its reason where it answered itself; empty where the engine did.
        without_key: HTTP status of the list of models when it is asked for without a key.
        leaked: HTTP status of a path that the gateway must keep closed; None where it does, or nobody asked.
    """

    status: int
    body: str
    gateway: str = ""
    without_key: int | None = None
    leaked: int | None = None


@dataclass(frozen=True)
class Ready:
    """It generated.

    Attributes:
        text: The answer.
    """

    text: str


@dataclass(frozen=True)
class Failed:
    """It cannot become ready by waiting.

    Attributes:
        reason: One sentence without its full stop.
        spared: Whether the ranks are not at fault: they may go on while somebody mends the way to them.
    """

    reason: str
    spared: bool = False


def judge(endpoint: str, model: str, ranks: Sequence[Seen], answer: Answer | None) -> Ready | Failed | None:
    """Return the verdict; None while there is hope and no answer."""
    if answer is not None:
        verdict = judge_answer(endpoint, model, answer)
        if isinstance(verdict, Failed) and answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Failed(f"{verdict.reason}: {_blame(ranks) or 'no rank has an error in its journal'}")
        return verdict
    if any(rank.lost for rank in ranks):
        return Failed(_blame(ranks) or "a rank was lost")
    return None


def judge_answer(endpoint: str, model: str, answer: Answer) -> Ready | Failed:
    """Return the verdict on an answer alone."""
    if answer.gateway:
        return Failed(_turned_away(endpoint, answer), spared=True)
    if answer.status != HTTPStatus.OK:
        return Failed(_refused(endpoint, model, answer))
    if answer.without_key not in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return Failed(
            f"{endpoint}/models answered {answer.without_key} without a key, and must answer 401: "
            f"what answers there is not the gateway of this fleet"
        )
    if answer.leaked is not None:
        return Failed(
            f"{RAW} answered {answer.leaked} beside {endpoint}, and must answer 404: "
            f"the gateway lets the engine's own paths through"
        )
    faults, text = _generated(model, answer.body)
    if faults:
        return Failed(f"{endpoint} answered a chat completion with 200, but {'; '.join(faults)}")
    return Ready(text)


def judge_silence(endpoint: str, ranks: Sequence[Seen], seconds: float, now: float) -> Failed | None:
    """Return the verdict on a completion that is not answered; None while it may still be.

    A rank that raises while its peers wait for it neither dies nor answers: only its journal tells.

    Args:
        endpoint: Base URL, ending in /v1.
        ranks: The ranks with their journals.
        seconds: For how long the completion has not been answered.
        now: Seconds since the epoch.
    """
    asked = now - seconds - CLOCKS_APART
    since = [
        replace(rank, journal=tuple(line for line in rank.journal if line.time >= asked)) for rank in ranks
    ]
    if not any((said := first_complaint(rank.journal)) and said.own for rank in since):
        return None
    return Failed(f"{endpoint} has not answered a chat completion for {seconds:.0f} s: {_blame(since)}")


def overdue(endpoint: str, ranks: Sequence[Seen], seconds: float, silence: str | None) -> Failed:
    """Return the verdict at the deadline: what each rank was doing.

    Args:
        endpoint: Base URL, ending in /v1.
        ranks: The ranks.
        seconds: The deadline.
        silence: Why the last question had no answer; None if it is still waited for.
    """
    why = f" ({silence})" if silence else ""
    return Failed(f"{endpoint} gave no completion within {seconds:.0f} s{why}: {progress(ranks)}")


def progress(ranks: Sequence[Seen]) -> str:
    """Return what each rank is doing, for a person who waits."""
    return "; ".join(f"rank {rank.rank} on {rank.host} {_doing(rank)}" for rank in ranks)


def _turned_away(endpoint: str, answer: Answer) -> str:
    """Return why the gateway itself refused a chat completion with the fleet's own key."""
    match answer.gateway:
        case "no-key":
            return f"the gateway at {endpoint} does not know the fleet's API key ({answer.status})"
        case "source":
            return (
                f"the gateway at {endpoint} does not let this machine in ({answer.status}): add its address "
                f"to access.sources"
            )
        case "not-allowed":
            return f"the gateway at {endpoint} lets no chat completion through ({answer.status})"
    said = _error_text(answer.body)
    return f"the gateway at {endpoint} answered a chat completion with {answer.status} ({said})"


def _refused(endpoint: str, model: str, answer: Answer) -> str:
    said = _error_text(answer.body)
    if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return (
            f"the engine behind {endpoint} refuses the gateway's key ({answer.status}): "
            f"it was started with another"
        )
    if answer.status == HTTPStatus.NOT_FOUND:
        return f"{endpoint} serves no model named {model} ({answer.status}: {said})"
    return f"{endpoint} came up, but answered a chat completion with {answer.status} ({said})"


def _error_text(body: str) -> str:
    """Return the message of an OpenAI-style error, or the first line of whatever came."""
    said = _decoded(body)
    error = said.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    text = str(message) if message else (body.strip() or "no text")
    return text.splitlines()[0][:_LONGEST].rstrip(".")


def _generated(model: str, body: str) -> tuple[list[str], str]:
    """Return what is wrong with a chat completion, and its text."""
    said = _decoded(body)
    choices = said.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return [f"without exactly one choice: {body[:_LONGEST]!r}"], ""
    text = _within(choices[0], "message").get("content")
    tokens = _within(said, "usage").get("completion_tokens")
    finish = choices[0].get("finish_reason")
    faults = [] if said.get("model") == model else [f"from the model {said.get('model')!r}, not {model!r}"]
    if not isinstance(text, str) or not text.strip():
        faults.append("the text is empty")
    elif REPLACEMENT in text:
        faults.append(f"the text {text!r} is broken UTF-8")
    if finish not in _FINISHED:
        faults.append(f"it finished with {finish!r}, neither 'stop' nor 'length'")
    if not isinstance(tokens, int) or tokens < 1:
        faults.append(f"it counts {tokens!r} generated tokens")
    return faults, text if isinstance(text, str) else ""


def _within(said: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object within an answer; an empty one where there is none."""
    found = said.get(name)
    return found if isinstance(found, dict) else {}


def _decoded(body: str) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _blame(ranks: Sequence[Seen]) -> str | None:
    """Return the sentence on the rank that failed first; None where none has failed."""
    failed = [(when, rank) for rank in ranks if (when := _failed_at(rank)) is not None]
    if not failed:
        return None
    _, first = min(failed, key=lambda each: (each[0], each[1].rank))
    return f"rank {first.rank} on {first.host} {_fate(first)}"


def _failed_at(rank: Seen) -> tuple[bool, float] | None:
    """Return whether a rank only points elsewhere, and when it failed; None if it did not.

    The time is in seconds since the epoch, infinity where nothing tells. The first traceback tells better
    than the end of the process: an engine lingers after its error, and may outlive the peers that it has
    brought down.
    """
    complaint = first_complaint(rank.journal)
    times = [(not complaint.own, complaint.time)] if complaint else []
    if rank.lost:
        times.append((False, rank.unit.exited if rank.unit and rank.unit.exited else math.inf))
    return min(times, default=None)


def _fate(rank: Seen) -> str:
    if rank.unit is None:
        return f"was lost: its host has not answered over SSH for {rank.silent:.0f} s"
    complaint = first_complaint(rank.journal)
    if complaint is not None and (rank.unit.alive or complaint.own):
        return f"failed first: {complaint.said.rstrip('.')}"
    said = complaint.said if complaint else rank.words
    return f"failed first: it {rank.unit.end}" + (f"; its last words: {said}" if said else "")


def _doing(rank: Seen) -> str:
    if rank.unit is None:
        return "does not answer over SSH"
    if not rank.unit.alive:
        return rank.unit.end
    words = f": {rank.words[:_LONGEST]}" if rank.words else ""
    return f"is {'starting' if rank.unit.active == 'activating' else 'running'}{words}"

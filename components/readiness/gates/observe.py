"""All hosts of a fleet asked at once, each over one SSH connection; nothing is changed there."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from components.hosts import program
from components.hosts.markers import UNIT
from components.readiness.watch import in_parallel
from stacks.errors import EffectError, Refusal

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from components.hosts.record import HostRecord
    from components.readiness.gates.sight import Sight
    from components.readiness.gates.wants import Wants

T = TypeVar("T")

PROGRAM: Final = Path(__file__).parent / "collect.py"
PEEK_SECONDS: Final = 15.0
LATE: Final = "it gave no answer within {seconds}; see what its driver does (`nvidia-smi` there)"


@dataclass(frozen=True)
class Peek:
    """What is cheap to see of one host.

    Attributes:
        shows: Aspect (boot, driver, channel, ports) → its words.
        clock: Seconds since the epoch by the host's clock.
        asked: The operator's clock before that.
        answered: The operator's clock after it.
    """

    shows: dict[str, str]
    clock: float
    asked: float
    answered: float


def peeks(hosts: Sequence[HostRecord], stop: threading.Event) -> dict[str, Peek | EffectError]:
    """Return host name → what is cheap to see of it, or why it is not seen."""
    return of_each(hosts, lambda host: _peek(host, PEEK_SECONDS), PEEK_SECONDS, stop, LATE)


def sights(
    hosts: Sequence[HostRecord], wants: Wants, seconds: float, stop: threading.Event
) -> dict[str, Sight | EffectError]:
    """Return host name → everything that its tools say, or why it is not seen.

    Args:
        hosts: Whom to ask.
        wants: What the plan wants; decides which tools are asked.
        seconds: How long it may take; a diagnostic run takes minutes.
        stop: Set when nobody wants to wait any longer.
    """
    began = time.monotonic()
    clocks = peeks(hosts, stop)
    left = max(1.0, seconds - (time.monotonic() - began))

    def look(host: HostRecord) -> Sight:
        peek = clocks[host.name]
        if isinstance(peek, EffectError):
            raise peek
        return _look(host, wants, peek, left)

    return of_each(hosts, look, left, stop, LATE)


def _peek(host: HostRecord, seconds: float) -> Peek:
    asked = time.time()
    found = _ask(host, seconds, "peek")
    return Peek(found["shows"], found["clock"], asked, time.time())


def _look(host: HostRecord, wants: Wants, peek: Peek, seconds: float) -> Sight:
    from components.readiness.gates.sight import Sight  # noqa: PLC0415 -- pydantic builds it when first used

    spans = host.name in wants.domain
    asked = {"peer": wants.peer(host.name), "user": wants.user, "unit": UNIT, "imex": spans}
    found = _ask(host, seconds, "look", json.dumps(asked))
    return Sight.model_validate_json(json.dumps(found | asdict(peek)))


def _ask(host: HostRecord, seconds: float, *words: str) -> dict[str, Any]:
    answer = program.run(host, PROGRAM, *words, deadline=seconds)
    try:
        found = json.loads(answer.out)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        last = (answer.err.strip().splitlines() or ["it printed nothing that can be read"])[-1]
        raise Refusal(f"host {host.name} could not be looked at: {last}; log in and run python3 there")
    return found


def of_each(
    hosts: Sequence[HostRecord],
    ask: Callable[[HostRecord], T],
    seconds: float,
    stop: threading.Event,
    late: str,
) -> dict[str, T | EffectError]:
    """Ask all hosts at the same time; what one does not answer holds nobody up.

    Args:
        hosts: Whom to ask.
        ask: What to ask.
        seconds: How long to wait.
        stop: Set when nobody wants to wait any longer.
        late: What is said of a host that gave no answer by then; `{seconds}` in it is the time.
    """

    def asker(host: HostRecord) -> Callable[[], T | EffectError]:
        def answer() -> T | EffectError:
            try:
                return ask(host)
            except EffectError as fault:
                return fault

        return answer

    found = in_parallel(((host.name, asker(host)) for host in hosts), seconds, stop)
    none = Refusal(late.format(seconds=f"{seconds:.0f} s"))
    return {host.name: found.get(host.name, none) for host in hosts}

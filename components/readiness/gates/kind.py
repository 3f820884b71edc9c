"""The resource kind `rack:readiness:Gates`: hosts and fabric are as they must be before a rank starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import Field

from components.hosts.record import HostRecord  # noqa: TC001 -- pydantic reads it at run time
from components.plugin.kind import Inputs, Kind, Outputs, Seen, new_incarnation
from components.readiness.gates.wants import Wants  # noqa: TC001 -- pydantic reads it at run time
from stacks.errors import EffectError, Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from components.plugin.kind import Drift, Run
    from components.readiness.gates.sight import Sight

SECONDS: Final = 600.0
"""For all of it: a diagnostic run of level 2 takes about two minutes by its documentation."""


class GatesInputs(Inputs):
    """What is wanted of whom.

    Attributes:
        fleet: The fleet's id.
        hosts: The hosts in rank order.
        wants: What the plan wants of them.
        after: Nonces of what changed hosts before: a new run there is gated again.
    """

    fleet: str
    hosts: list[HostRecord] = Field(min_length=1)
    wants: Wants
    after: list[str]


class GatesOutputs(Outputs):
    """What was seen.

    Attributes:
        environment: Host name → variables of its rank that only the host could tell.
        shown: Host name → aspect (boot, driver, channel, ports) → its words, to compare.
    """

    environment: dict[str, dict[str, str]]
    shown: dict[str, dict[str, str]]


class Gates(Kind[GatesInputs, GatesOutputs]):
    """What all hosts' own tools say is judged; where anything is not as it must be, no rank starts."""

    token = "rack:readiness:Gates"  # noqa: S105 -- a type token, no secret
    inputs = GatesInputs
    outputs = GatesOutputs

    def identity(self, inputs: GatesInputs) -> str:
        """Return the gates' name."""
        return f"{inputs.fleet}-gates"

    def create(self, inputs: GatesInputs, run: Run) -> GatesOutputs:
        """Look at all hosts and judge; fails with every refusal at once."""
        return _passed(inputs, new_incarnation(), run)

    def read(self, inputs: GatesInputs, outputs: GatesOutputs, run: Run) -> Seen[GatesOutputs]:
        """Compare what is cheap to see with what was there when the gates were passed."""
        from components.readiness.gates import observe  # noqa: PLC0415 -- a preview needs none of it

        drift: Drift = {}
        for host, peek in observe.peeks(inputs.hosts, run.stop).items():
            if isinstance(peek, EffectError):
                drift[host] = {"host": str(peek)}
            elif said := _changed(outputs.shown.get(host, {}), peek.shows):
                drift[host] = {"gates": said}
        return Seen(outputs, drift)

    def update(self, old: GatesInputs, new: GatesInputs, outputs: GatesOutputs, run: Run) -> GatesOutputs:
        """Look and judge again."""
        del old
        try:
            return _passed(new, outputs.incarnation, run)
        except Refusal as refusal:
            # A plain refusal would leave the old verdict in state as if it still held.
            raise Incomplete([str(refusal)], outputs.model_copy(update={"shown": {}})) from None

    def delete(self, inputs: GatesInputs, outputs: GatesOutputs, run: Run) -> None:
        """Leave everything: a verdict holds nothing."""
        del inputs, outputs, run

    def bundle(self, inputs: GatesInputs, found: Mapping[str, str], clean: Callable[[str], str]) -> Path:
        """Keep what all hosts show."""
        from components import bundles  # noqa: PLC0415 -- only a failure needs it

        return bundles.write(inputs.fleet, "gates", inputs.hosts, found, clean)


def _passed(inputs: GatesInputs, incarnation: str, run: Run) -> GatesOutputs:
    """Return what follows for the ranks.

    Raises:
        Refusal: Something is not as it must be; a line for each.
    """
    from components.readiness.gates import observe  # noqa: PLC0415 -- a preview needs none of it
    from components.readiness.gates.judge import judge  # noqa: PLC0415 -- brings the planning's versions
    from stacks import catalog  # noqa: PLC0415 -- as above

    seconds = min(SECONDS, run.deadline or SECONDS)
    run.progress(f"asking the tools of {len(inputs.hosts)} hosts; a diagnostic run takes minutes")
    seen: dict[str, Sight] = {}
    faults = []
    for host, sight in observe.sights(inputs.hosts, inputs.wants, seconds, run.stop).items():
        if isinstance(sight, EffectError):
            faults.append(f"{host}: {sight}")
        else:
            seen[host] = sight
    if run.stop.is_set():
        raise Refusal("the gates were interrupted; run `pulumi up` again")
    verdict = judge(seen, inputs.wants, catalog.load().fabrics)
    if faults or verdict.refused:
        raise Refusal("\n".join((*faults, *(each.sentence for each in verdict.refused))))
    shown = {host: sight.shows for host, sight in seen.items()}
    environment = {host: dict(own) for host, own in verdict.environment.items()}
    return GatesOutputs(incarnation=incarnation, environment=environment, shown=shown)


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    return "; ".join(
        f"{aspect} is {word or 'nothing'}, it was {before.get(aspect) or 'nothing'}"
        for aspect, word in now.items()
        if word != before.get(aspect, "")
    )

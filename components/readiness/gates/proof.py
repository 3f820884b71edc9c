"""The resource kind `rack:readiness:Collectives`: ranks reach each other, rightly and as fast as before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import Field

from components.hosts.record import HostRecord  # noqa: TC001 -- pydantic reads it at run time
from components.plugin.kind import Inputs, Kind, Outputs, Seen, new_incarnation
from components.readiness.gates.trial import Exchange  # noqa: TC001 -- pydantic reads it at run time
from components.readiness.gates.wants import Wants  # noqa: TC001 -- pydantic reads it at run time
from stacks.errors import EffectError, Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from components.plugin.kind import Run
    from components.readiness.gates.trial import Told

SECONDS: Final = 900.0
"""For all engines together; ranks that do not come are waited for five minutes."""
Speeds = dict[str, dict[str, float]]
"""Engine → collective → bus bandwidth in GB/s."""


class CollectivesInputs(Inputs):
    """Whose ranks exchange what.

    Attributes:
        fleet: The fleet's id.
        hosts: The hosts in rank order.
        wants: What the plan wants of them.
        exchanges: What the ranks of each engine do.
        seen: What the gates saw of each host (boot, driver, ports): what differs is proved again.
        after: Nonces of what changed hosts before: a new run there is proved again.
    """

    fleet: str
    hosts: list[HostRecord] = Field(min_length=1)
    wants: Wants
    exchanges: list[Exchange]
    seen: dict[str, dict[str, str]]
    after: list[str]


class CollectivesOutputs(Outputs):
    """How fast they were.

    Attributes:
        baseline: Engine → collective → bus bandwidth in GB/s when it was first measured with these ranks.
        measured: The same, the last time.
    """

    baseline: Speeds
    measured: Speeds


class Collectives(Kind[CollectivesInputs, CollectivesOutputs]):
    """All ranks run all-reduce and all-to-all in the engine's environment before the engine starts."""

    token = "rack:readiness:Collectives"  # noqa: S105 -- a type token, no secret
    inputs = CollectivesInputs
    outputs = CollectivesOutputs

    def identity(self, inputs: CollectivesInputs) -> str:
        """Return the proof's name."""
        return f"{inputs.fleet}-collectives"

    def create(self, inputs: CollectivesInputs, run: Run) -> CollectivesOutputs:
        """Run all collectives and judge; fails with every refusal at once."""
        empty = CollectivesOutputs(incarnation=new_incarnation(), baseline={}, measured={})
        holders = _holders(inputs, run)
        if len(holders) == len(inputs.hosts):
            raise Refusal(_unproved(holders))
        return _proved(inputs, empty, holders, run)

    def read(
        self, inputs: CollectivesInputs, outputs: CollectivesOutputs, run: Run
    ) -> Seen[CollectivesOutputs]:
        """See nothing: what a proof was about is compared by the gates, and ranks hold the GPUs by then."""
        del inputs, run
        return Seen(outputs, {})

    def update(
        self, old: CollectivesInputs, new: CollectivesInputs, outputs: CollectivesOutputs, run: Run
    ) -> CollectivesOutputs:
        """Prove again, but for ranks that run as they were proved; other ranks have a baseline of their own.

        A machine that took another's place is held to what that one reached.
        """
        same = _ranks(old) == _ranks(new)
        before = outputs if same else outputs.model_copy(update={"baseline": {}, "measured": {}})
        # A host that does not say leaves the old proof and what it was of: nothing has changed yet.
        holders = _holders(new, run)
        try:
            if len(holders) == len(new.hosts) and _started(old) == _started(new):
                return _left(before, holders, run)
            return _proved(new, before, holders, run)
        except Refusal as refusal:
            # A plain refusal would leave the old proof in state as if it still held.
            raise Incomplete([str(refusal)], before.model_copy(update={"measured": {}})) from None

    def delete(self, inputs: CollectivesInputs, outputs: CollectivesOutputs, run: Run) -> None:
        """Leave everything: a proof holds nothing."""
        del inputs, outputs, run

    def bundle(
        self, inputs: CollectivesInputs, found: Mapping[str, str], clean: Callable[[str], str]
    ) -> Path:
        """Keep what all hosts show."""
        from components import bundles  # noqa: PLC0415 -- only a failure needs it

        return bundles.write(inputs.fleet, "collectives", inputs.hosts, found, clean)


def _holders(inputs: CollectivesInputs, run: Run) -> list[str]:
    """Return the hosts on which ranks hold the GPUs; nobody is asked where none have anybody to reach.

    Raises:
        Refusal: A host does not say.
    """
    from components.readiness.gates import trial  # noqa: PLC0415 -- a preview needs none of it

    return trial.held_by(inputs.hosts, run.stop) if inputs.exchanges else []


def _left(before: CollectivesOutputs, holders: Sequence[str], run: Run) -> CollectivesOutputs:
    """Leave ranks alone that run everywhere as they were proved: nothing would start them again.

    Raises:
        Refusal: They never were.
    """
    if not before.measured:
        raise Refusal(_unproved(holders))
    run.note(
        f"ranks of this fleet run on {', '.join(holders)} and hold the GPUs, so collectives are not run now; "
        "what was measured before stands"
    )
    return before


def _proved(
    inputs: CollectivesInputs, before: CollectivesOutputs, holders: Sequence[str], run: Run
) -> CollectivesOutputs:
    """Return how fast the ranks are; those that run already are ended, as `serve` would do next.

    Raises:
        Refusal: Something is not as it must be; a line for each.
    """
    from components.readiness.gates import trial  # noqa: PLC0415 -- a preview needs none of it

    if holders:
        others = [host.name for host in inputs.hosts if host.name not in holders]
        how = f"and not on {', '.join(others)}" if others else "as they were started before"
        run.note(
            f"ranks of this fleet run on {', '.join(holders)} {how}, and no proof is of those: they are "
            "ended, the collectives are run, then all ranks start together"
        )
        trial.end([host for host in inputs.hosts if host.name in holders], run.stop)
    measured, faults = _measured(inputs, before.baseline, run)
    if run.stop.is_set():
        raise Refusal(trial.INTERRUPTED)
    if faults:
        raise Refusal("\n".join(faults))
    return before.model_copy(update={"baseline": measured | before.baseline, "measured": measured})


def _measured(inputs: CollectivesInputs, baseline: Speeds, run: Run) -> tuple[Speeds, list[str]]:
    from components.readiness.gates import trial  # noqa: PLC0415 -- a preview needs none of it
    from components.readiness.gates.collectives import failures, judged, largest  # noqa: PLC0415 -- as above

    seconds = min(SECONDS, run.deadline or SECONDS) / max(1, len(inputs.exchanges))
    measured: Speeds = {}
    faults: list[str] = []
    for exchange in inputs.exchanges:
        run.progress(f"{exchange.world} ranks of {exchange.engine} exchange data by {exchange.backend}")
        answers = trial.run(exchange, inputs.hosts, seconds, run.stop)
        silent = {host: answer for host, answer in answers.items() if isinstance(answer, EffectError)}
        faults += [f"{host}: {fault}" for host, fault in silent.items()]
        told: dict[str, Told] = {
            host: answer for host, answer in answers.items() if not isinstance(answer, EffectError)
        }
        usual = baseline.get(exchange.engine, {})
        refused = failures(told) if silent else judged(exchange, told, inputs.wants, usual)
        faults += [each.sentence for each in refused]
        figures = largest(each for host in told.values() for each in host.measured)
        measured[exchange.engine] = {name: each.busbw for name, each in figures.items()}
    return measured, faults


def _unproved(holders: Sequence[str]) -> str:
    from components.hosts.markers import UNIT  # noqa: PLC0415 -- a preview needs none of it

    return (
        f"ranks of this fleet run on {', '.join(holders)} and hold the GPUs, and nothing measured of them "
        f"holds: end them (`systemctl stop {UNIT}` there), then run `pulumi up` again"
    )


def _started(inputs: CollectivesInputs) -> tuple[object, ...]:
    """Return where ranks are started, and with what: machines, their boots, all that each is given.

    Ranks start together and never alone, so that those which run on all of these are what was proved.
    """
    machines = [(host.name, host.incarnation) for host in inputs.hosts]
    boots = {host: shows.get("boot") for host, shows in inputs.seen.items()}
    return machines, boots, inputs.exchanges


def _ranks(inputs: CollectivesInputs) -> list[tuple[str, str, list[tuple[str, int]]]]:
    """Return what a baseline is of: engines, backends and where their ranks are."""
    return [
        (each.engine, each.backend, [(member.host, member.local) for member in each.members])
        for each in inputs.exchanges
    ]

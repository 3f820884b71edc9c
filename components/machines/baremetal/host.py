"""`rack:baremetal:Host`: a machine that a person listed, claimed for a fleet with a lease."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING

from components.hosts.markers import LEASE
from components.hosts.record import Contact, HostRecord
from components.machines.baremetal import asking, lease, verdict
from components.machines.baremetal.lease import Claim, Lease, Standing
from components.machines.baremetal.verdict import Wanted
from components.machines.provider import fleet_faults
from components.plugin.kind import Drift, Inputs, Kind, Outputs, Run, Seen, new_incarnation
from stacks.errors import EffectError, Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.machines.baremetal.verdict import Facts


class HostInputs(Inputs, Contact, Wanted):
    """A machine of a fleet: how it is logged in to, and what the plan takes it for.

    Attributes:
        fleet: Identity of the fleet.
        brought: Folder → MiB of what the fleet brings to the disk of the machine's system.
        take_over: A fleet that is gone, whose lease may be taken over; empty: none.
    """

    fleet: str
    brought: dict[str, int]
    take_over: str = ""


class HostOutputs(Outputs):
    """A claimed machine.

    Attributes:
        record: How it is reached.
        machine: What tells it from every other machine: the ids of its system and its board.
        until: How long its lease says that it holds, UTC.
    """

    record: HostRecord
    machine: str
    until: str


_REACHING = frozenset({"address", "port", "user", "identity_file", "jump"})


class Host(Kind[HostInputs, HostOutputs]):
    """A machine of a person's own; it is there before and after, and only its lease is made and deleted."""

    token = "rack:baremetal:Host"  # noqa: S105 -- a type token
    inputs = HostInputs
    outputs = HostOutputs
    replace_on = frozenset({"fleet", "name", "host_key"})
    stable = frozenset({"machine"})

    def identity(self, inputs: HostInputs) -> str:
        """Return fleet and name."""
        return f"{inputs.fleet}-{inputs.name}"

    def faults(self, inputs: HostInputs) -> Sequence[str]:
        """Return what is wrong with the fleet's name."""
        return list(fleet_faults(inputs.fleet))

    def kept_by(self, changed: frozenset[str]) -> frozenset[str]:
        """Return that the record stays, unless the machine is reached in another way."""
        return self.stable if changed & _REACHING else self.stable | {"record"}

    def create(self, inputs: HostInputs, run: Run) -> HostOutputs:
        """Claim the machine; one that this fleet holds already under this name is adopted."""
        _require_going(run)
        facts, now = asking.survey(inputs.record())
        standing = lease.judge(facts.lease, _claim(inputs, facts), now)
        _require_fit(inputs, facts, now, standing)
        made = _hold(inputs, facts, standing, now)
        over = f", from fleet {standing.taken_from}" if standing.taken_from else ""
        run.note(f"{inputs.called} is claimed{over}: {verdict.called(facts)}")
        _clear(inputs, facts, made, run)
        return made

    def read(self, inputs: HostInputs, outputs: HostOutputs, run: Run) -> Seen[HostOutputs] | None:
        """Look whether the machine is still ours, and what it was claimed for. None when it is not ours."""
        del run
        try:
            facts, now = asking.survey(inputs.record())
        except EffectError as silent:
            return Seen(outputs, {inputs.name: {"machine": str(silent)}})
        held = lease.read(facts.lease)
        if held is None or (held.incarnation, held.machine) != (outputs.incarnation, facts.machine):
            return None
        return Seen(outputs, _drift(inputs, facts, held, now))

    def update(self, old: HostInputs, new: HostInputs, outputs: HostOutputs, run: Run) -> HostOutputs:
        """Renew the lease, and go on with the new way to the machine, where it is what it was claimed for."""
        del old
        try:
            _require_going(run)
            facts, now = asking.survey(new.record())
            held = lease.read(facts.lease)
            if held is None or held.incarnation != outputs.incarnation:
                raise Refusal(
                    f"{new.called}: its lease is not ours any more; `pulumi up --refresh` claims it again"
                )
            _require_fit(new, facts, now, Standing())
            renewed = _hold(new, facts, Standing(ours=held, replaces=held.incarnation), now)
            _clear(new, facts, renewed, run)
        except Incomplete:
            raise
        except EffectError as error:
            raise Incomplete([str(error)], outputs) from None
        return renewed

    def delete(self, inputs: HostInputs, outputs: HostOutputs, run: Run) -> None:
        """Give the machine back, if it still is held by this claim; nothing else there is touched."""
        try:
            given = asking.give(inputs.record(), "incarnation", outputs.incarnation)
        except EffectError as silent:
            run.warn(
                f"{inputs.called} may keep the lease {LEASE} of fleet {inputs.fleet}, and the next `up` or "
                "`destroy` gives it back if it answers then; where it went silent only during this one, "
                f"remove that file there: {silent}"
            )
            return
        if not given:
            run.note(f"{inputs.called} is left alone: somebody else holds it by now")


def _require_going(run: Run) -> None:
    if run.stop.is_set():
        raise Refusal("stopped before the machine was claimed; run `pulumi up` again")


def _require_fit(inputs: HostInputs, facts: Facts, now: float, standing: Standing) -> None:
    """Refuse a machine that cannot be had, or is not what it is taken for; with all reasons at once."""
    reasons = [standing.refused] if standing.refused else []
    reasons += verdict.lacks(facts, inputs, now).values()
    reasons += asking.disk_lacks(inputs.record(), inputs.brought)
    if reasons:
        raise Refusal(f"{inputs.called}: {'; '.join(reasons)}")


def _hold(inputs: HostInputs, facts: Facts, standing: Standing, now: float) -> HostOutputs:
    """Write the lease; one of ours keeps its incarnation and the day of the claim."""
    ours = standing.ours
    held = Lease(
        fleet=inputs.fleet,
        name=inputs.name,
        owner=_owner(),
        since=ours.since if ours else lease.utc(now),
        until=lease.until(now),
        incarnation=ours.incarnation if ours else new_incarnation(),
        machine=facts.machine,
    )
    asking.take(inputs.record(), held, standing.replaces)
    record = inputs.record(held.incarnation, facts.interface)
    return HostOutputs(incarnation=held.incarnation, record=record, machine=facts.machine, until=held.until)


def _clear(inputs: HostInputs, facts: Facts, made: HostOutputs, run: Run) -> None:
    """Take back what a fleet that is gone set up on the machine, if any of it is there still."""
    gone = inputs.take_over
    if not _is_left(inputs, facts):
        return
    from components.hosts.playbook import take_back  # noqa: PLC0415 -- only a machine taken over needs it

    run.note(f"{inputs.called}: what fleet {gone} set up there is taken away, but for checkpoints")
    try:
        take_back(gone, [made.record], run)
    except EffectError as error:
        raise Incomplete([f"{inputs.called}: what fleet {gone} left does not go: {error}"], made) from None


def _is_left(inputs: HostInputs, facts: Facts) -> bool:
    """Say whether something of the fleet that is gone is there; the machine's own fleet is not gone."""
    return inputs.take_over in facts.fleets and inputs.take_over != inputs.fleet


def _drift(inputs: HostInputs, facts: Facts, held: Lease, now: float) -> Drift:
    found = verdict.lacks(facts, inputs, now)
    if said := lease.ending(held, now):
        found["lease"] = said
    if _is_left(inputs, facts):
        found["take_over"] = f"what fleet {inputs.take_over} set up there is not taken away yet"
    return {inputs.name: found} if found else {}


def _claim(inputs: HostInputs, facts: Facts) -> Claim:
    return Claim(inputs.fleet, inputs.name, facts.machine, inputs.take_over)


def _owner() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # nobody gave this user a name
        user = str(os.getuid())
    return f"{user}@{os.uname().nodename}"

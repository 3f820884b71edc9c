"""Whose a machine is: the lease on it, and what it means to a fleet that wants it. Pure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from components.hosts.markers import LEASE

DAYS: Final = 14
"""How long a lease says that it holds. Nobody takes a machine by itself when it is over; a person judges."""
RENEWED_BELOW: Final = 7
"""Days that are left when `up` renews it: state, not events, as with certificates."""
_DAY: Final = 86400
_UTC: Final = "%Y-%m-%dT%H:%M:%SZ"


class Lease(BaseModel):
    """Who holds a machine, as it is written on it.

    Attributes:
        fleet: Identity of the fleet.
        name: The machine's name in it.
        owner: Who claimed or renewed it last, `user@machine`.
        since: When it was claimed, UTC.
        until: How long it says that it holds, UTC.
        incarnation: Nonce of the claim.
        machine: What the machine was by itself when it was claimed; a copied disk carries the lease along.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    fleet: str
    name: str
    owner: str
    since: str
    until: str
    incarnation: str
    machine: str


@dataclass(frozen=True)
class Claim:
    """What a fleet wants of a machine.

    Attributes:
        fleet: Identity of the fleet.
        name: The machine's name in it.
        machine: What the machine says that it is.
        take_over: A fleet whose lease may be taken over; empty: none.
    """

    fleet: str
    name: str
    machine: str
    take_over: str = ""


@dataclass(frozen=True)
class Standing:
    """What a lease means to a claim.

    Attributes:
        refused: Why the machine cannot be had, one sentence; empty where it can.
        ours: The lease, where it is this claim's own.
        replaces: Incarnation of the lease that is replaced; empty where there is none.
        taken_from: The fleet that it is taken over from; empty where it is from none.
    """

    refused: str = ""
    ours: Lease | None = None
    replaces: str = ""
    taken_from: str = ""


def read(text: str) -> Lease | None:
    """Return the lease that a machine shows; None where it cannot be read."""
    try:
        return Lease.model_validate_json(text)
    except ValidationError:
        return None


def judge(text: str, claim: Claim, now: float) -> Standing:
    """Say whether a machine can be had.

    Args:
        text: The lease as it is written; empty where there is none.
        claim: Who wants it.
        now: The operator's clock, in seconds.
    """
    if not text:
        return Standing()
    lease = read(text)
    if lease is None:
        return Standing(refused=f"what stands in its {LEASE} is no lease: look at it there, and remove it")
    if lease.fleet != claim.fleet:
        return _another_fleets(lease, claim, now)
    if lease.machine != claim.machine:
        return Standing(replaces=lease.incarnation)  # a disk that was copied, or put into another machine
    if lease.name != claim.name:
        return Standing(refused=_ours_twice(lease))
    return Standing(ours=lease, replaces=lease.incarnation)


def until(now: float) -> str:
    """Return how long a lease holds that is taken or renewed now."""
    return utc(now + DAYS * _DAY)


def utc(seconds: float) -> str:
    """Return a moment as leases have it."""
    return time.strftime(_UTC, time.gmtime(seconds))


def ending(lease: Lease, now: float) -> str:
    """Return that a lease is to be renewed; empty where it is not yet."""
    return (
        f"its lease ends on {lease.until}: `up` renews it"
        if lease.until < utc(now + RENEWED_BELOW * _DAY)
        else ""
    )


def _another_fleets(lease: Lease, claim: Claim, now: float) -> Standing:
    if lease.fleet == claim.take_over:
        return Standing(replaces=lease.incarnation, taken_from=lease.fleet)
    ended = lease.until < utc(now)
    held = (
        f"it is leased by fleet {lease.fleet} of {lease.owner} since {lease.since} until {lease.until}"
        f"{', which is over' if ended else ''}"
    )
    copied = "; its disk is a copy of that of another machine" if lease.machine != claim.machine else ""
    return Standing(
        refused=f"{held}{copied}: destroy that fleet, list another machine, or, if you know that it is gone, "
        f"write `take_over: {lease.fleet}` beside this one in machines.hosts"
    )


def _ours_twice(lease: Lease) -> str:
    return (
        f"it is the machine that {lease.name} of this fleet is already, under another address (machine "
        f"{lease.machine}): list each machine once; if the list was only put in another order, run again"
    )

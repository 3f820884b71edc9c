"""Our two programs on a machine: one command over SSH each, as root."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components.hosts import program
from components.machines.baremetal import lease, verdict
from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.hosts.record import HostRecord
    from components.hosts.ssh import Answer

SURVEY_SECONDS: Final = 40.0
"""A driver's tool may take its time when it is asked for the first time."""
HOLD_SECONDS: Final = 15.0
HELD: Final = 3
_SURVEY: Final = Path(__file__).with_name("survey.py")
_HOLD: Final = Path(__file__).with_name("hold.py")
_PREPARE: Final = Path(__file__).resolve().parents[3] / "playbooks/roles/prepare/files/survey.py"
_NOT_FOUND: Final = 127
_WORDS: Final = 160


def survey(host: HostRecord) -> tuple[verdict.Facts, float]:
    """Return what a machine says of itself, and the operator's clock when it did.

    Raises:
        Unreachable: It did not answer, or is not the one that is known.
        Refusal: It answered something else.
    """
    answer = program.run(host, _SURVEY, host.address, deadline=SURVEY_SECONDS)
    facts = verdict.read(answer.out) if not answer.code else None
    if facts is None:
        raise Refusal(_odd(host, answer))
    return facts, time.time()


def disk_lacks(host: HostRecord, brought: Mapping[str, int]) -> list[str]:
    """Return one clause for each disk of a machine with less space than what is brought there takes.

    Raises:
        Unreachable: As for `survey`.
        Refusal: It answered something else.
    """
    answer = program.run(host, _PREPARE, "disks", json.dumps(dict(brought)), deadline=SURVEY_SECONDS)
    if answer.code:
        raise Refusal(_odd(host, answer))
    lacks: list[str] = json.loads(answer.out)
    return lacks


def take(host: HostRecord, wanted: lease.Lease, replaces: str) -> None:
    """Write a lease on a machine, in the place of the one that was seen there.

    Raises:
        Unreachable: As for `survey`.
        Refusal: Somebody else took the machine since, or it let nothing be written.
    """
    words = ["take", json.dumps(wanted.model_dump()), *([replaces] if replaces else [])]
    answer = program.run(host, _HOLD, *words, deadline=HOLD_SECONDS)
    if answer.code == HELD:
        held = lease.read(answer.out)
        whose = f"fleet {held.fleet} of {held.owner}" if held else "somebody else"
        raise Refusal(f"{host.called}: {whose} took it just now: run again, to see who has it")
    if answer.code:
        raise Refusal(_odd(host, answer))


def give(host: HostRecord, key: str, value: str) -> bool:
    """Give a machine back where its lease says that value; return whether it did.

    Raises:
        Unreachable: As for `survey`.
        Refusal: It let nothing be removed.
    """
    answer = program.run(host, _HOLD, "give", key, value, deadline=HOLD_SECONDS)
    if answer.code not in {0, HELD}:
        raise Refusal(_odd(host, answer))
    return answer.code == 0


def _odd(host: HostRecord, answer: Answer) -> str:
    last = (answer.err.strip().splitlines() or answer.out.strip().splitlines() or ["it said nothing"])[-1]
    if "sudo" in last:
        return (
            f"{host.called}: it refuses root to {host.user} ({last[:_WORDS]}): log in as root, or allow the "
            "user sudo without a password"
        )
    if answer.code == _NOT_FOUND:
        return (
            f"{host.called}: it has no {program.PYTHON}, which Rackstack and Ansible need there: install it"
        )
    return f"{host.called}: it could not be asked (status {answer.code}): {last[:_WORDS]}: mend that there"

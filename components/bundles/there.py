"""What the hosts show, all asked at the same time by one program that is sent to them."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components.bundles.witness import LATE
from components.hosts import program
from components.readiness.watch import in_parallel
from stacks.errors import EffectError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from components.hosts.record import HostRecord

PROGRAM: Final = Path(__file__).with_name("witness.py")
ANSWER_SECONDS: Final = 18.0


def seen(hosts: Sequence[HostRecord]) -> tuple[dict[str, str], list[str]]:
    """Return file in the archive → text, and a sentence for each host that told nothing."""
    if not hosts:
        return {}, []
    answers = in_parallel(
        ((host.name, _asker(host)) for host in hosts), ANSWER_SECONDS + 1, threading.Event()
    )
    told: dict[str, str] = {}
    silent = []
    for host in hosts:
        answer = answers.get(host.name, f"host {host.name} told nothing within {ANSWER_SECONDS:g} s")
        if isinstance(answer, str):
            silent.append(answer)
        else:
            if late := answer.pop(LATE, ""):
                silent.append(f"host {host.name} did not show within {ANSWER_SECONDS:g} s: {late}")
            told |= {f"hosts/{host.name}/{name}": text for name, text in answer.items()}
    return told, silent


def _asker(host: HostRecord) -> Callable[[], dict[str, str] | str]:
    def ask() -> dict[str, str] | str:
        try:
            answer = program.run(host, PROGRAM, deadline=ANSWER_SECONDS)
        except EffectError as silent:
            return str(silent)
        return unpacked(answer.out) or (
            f"host {host.name} answered, but could not tell what it shows: {answer.err.strip()[-300:]}"
        )

    return ask


def unpacked(printed: str) -> dict[str, str] | None:
    """Return name → text from what the program printed; None where it is cut off."""
    try:
        texts: dict[str, str] = json.loads(gzip.decompress(base64.b64decode(printed, validate=False)))
    except (binascii.Error, EOFError, OSError, ValueError):
        return None
    return texts

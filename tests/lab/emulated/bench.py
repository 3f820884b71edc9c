"""The figures of emulated machines: `python -m tests.lab.emulated.bench`, part of `make bench`.

They live here and not in `tools.bench`, for what these machines are is the tests' alone.
"""

from __future__ import annotations

import secrets
import sys
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Final

from components.hosts import ssh
from components.hosts.playbook import Playbook
from tests.factories.run import FakeRun
from tests.lab.emulated.packages import RELEASE, of_no_release, of_release
from tests.lab.emulated.packages import machine as kernel
from tests.lab.emulated.rack import GPUS, TRAY, Rack, booted
from tests.lab.faults.site import on, settle
from tools.bench.figure import Figure, none_of, printed, ratio, within
from tools.bench.looking import image
from tools.bench.playbooks import plain, through_rackstack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from components.hosts.playbook import PlaybookInputs, PlaybookOutputs

PAIR, MANY = 2, 16
_ROUNDS: Final = 3
_LOUD: Final = "/etc/ssh/sshd_config.d/99-loud.conf"
_STARTED: Final = "journalctl --quiet --unit=ssh | grep --count 'Starting session: command' || true"


def measure() -> Iterator[Figure]:
    """Yield what was measured on two machines, and then on sixteen."""
    with _rack(PAIR) as rack:
        inputs = rack.inputs(TRAY)
        made = settle(inputs)
        yield _sessions(rack, inputs, made)
        yield from _prepared(inputs, made)
    with _rack(MANY) as rack:
        inputs = rack.inputs(TRAY)
        made = settle(inputs)
        taken = median(_look(inputs, made) for _ in range(_ROUNDS))
        yield within(f"look at {MANY} emulated hosts", taken, 4, "1 playbook, new connections")


def _prepared(inputs: PlaybookInputs, made: PlaybookOutputs) -> Iterator[Figure]:
    """Yield how long `prepare` takes on hosts that are right, both ways in turn, and what it does there."""
    run = FakeRun()
    outputs = Playbook().update(inputs, inputs, made, run)
    yield none_of("changed by `prepare` on hosts that are right", len(run.changes))
    taken = {plain: 0.0, through_rackstack: 0.0}
    for way in (plain, through_rackstack) * _ROUNDS:
        begin = time.perf_counter()
        way((inputs, outputs))
        taken[way] += (time.perf_counter() - begin) / _ROUNDS
    yield ratio(
        "`prepare` with all roles on hosts that are right ÷ `ansible-playbook`",
        taken[through_rackstack],
        taken[plain],
        most=1.1,
    )


def _sessions(rack: Rack, inputs: PlaybookInputs, made: PlaybookOutputs) -> Figure:
    """Return how many commands a host is sent, as its SSH server counts them."""
    [first, *_] = rack.hosts
    on(first, f"echo LogLevel VERBOSE >{_LOUD} && systemctl reload ssh")
    before = int(on(first, _STARTED))
    Playbook().update(inputs, inputs, made, FakeRun())
    sent = int(on(first, _STARTED)) - before
    on(first, f"rm {_LOUD} && systemctl reload ssh")
    return Figure(
        "round trips to a host in `prepare` with all roles",
        str(sent),
        "nothing to do",
        "\N{EN DASH}",
        kept=True,
    )


def _look(inputs: PlaybookInputs, made: PlaybookOutputs) -> float:
    ssh.close_all()
    begin = time.perf_counter()
    Playbook().read(inputs, made, FakeRun())
    return time.perf_counter() - begin


@contextmanager
def _rack(count: int) -> Iterator[Rack]:
    """Boot trays, and take them away afterwards whatever happened."""
    offered = (*of_release(RELEASE), *of_no_release())
    with booted(f"bench-{secrets.token_hex(3)}", image(), count, kernel(GPUS), *offered) as rack:
        yield rack


def main() -> int:
    """Print rows of the table of docs/benchmarks.md; return 1 where a figure is above its limit."""
    return printed(measure())


if __name__ == "__main__":
    sys.exit(main())

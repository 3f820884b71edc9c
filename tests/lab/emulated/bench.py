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
from components.machines.lab import cache
from stacks import catalog
from stacks.errors import RackstackError
from tests.factories.run import FakeRun
from tests.lab.emulated.packages import RELEASE, of_no_release, of_release
from tests.lab.emulated.packages import machine as kernel
from tests.lab.emulated.rack import GPUS, Rack, booted, on, settled
from tools.bench.figure import Figure, none_of, ratio, within
from tools.bench.playbooks import plain, through_rackstack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from components.hosts.playbook import PlaybookInputs, PlaybookOutputs

TRAY: Final = ("tuning", "nvidia_driver", "limits", "imex", "dcgm")
PAIR, MANY = 2, 16
_ROUNDS: Final = 3
_LOUD: Final = "/etc/ssh/sshd_config.d/99-loud.conf"
_STARTED: Final = "journalctl --quiet --unit=ssh | grep --count 'Starting session: command' || true"


def measure() -> Iterator[Figure]:
    """Yield what was measured on two machines, and then on sixteen."""
    with _rack(PAIR) as rack:
        inputs = rack.inputs(TRAY)
        made = settled(inputs)
        yield _sessions(rack, inputs, made)
        yield from _prepared(inputs, made)
    with _rack(MANY) as rack:
        inputs = rack.inputs(TRAY)
        made = settled(inputs)
        taken = median(_look(inputs, made) for _ in range(_ROUNDS))
        yield within(f"look at {MANY} emulated hosts", taken, 4, "1 playbook, new connections")


def _prepared(inputs: PlaybookInputs, made: PlaybookOutputs) -> Iterator[Figure]:
    """Yield how long `prepare` takes on hosts that are right, both ways in turn, and what it does there."""
    run = FakeRun()
    outputs = Playbook().update(inputs, inputs, made, run)
    told = [line for line in run.said if ": done on " in line]
    yield none_of(
        "changed by `prepare` on hosts that are right",
        sum(not line.endswith(" 0 changed") for line in told),
    )
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
    recipe = catalog.load().images["bookworm-1"]
    image = cache.image("bookworm-1", recipe.suite, recipe.packages)
    offered = (*of_release(RELEASE), *of_no_release())
    with booted(f"bench-{secrets.token_hex(3)}", image, count, kernel(GPUS), *offered) as rack:
        yield rack


def main() -> int:
    """Print rows of the table of docs/benchmarks.md; return 1 where a figure is above its limit."""
    above = []
    try:
        for figure in measure():
            sys.stdout.write(f"{figure.row}\n")
            sys.stdout.flush()
            above += [] if figure.kept else [f"{figure.what}: {figure.figure}, and must be {figure.limit}"]
    except RackstackError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if above:
        sys.stderr.write(f"bench: above its limit: {'; '.join(above)}\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())

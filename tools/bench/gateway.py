"""What the gateway adds to a stream, on its own host over loopback: beside an even engine, and the lab's."""

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.hosts import ssh
from components.hosts.record import HostRecord
from stacks.errors import Refusal
from tools.bench.figure import Figure, added, quotient
from tools.bench.served import Served

STREAMS = 32
_HERE = Path(__file__).parent
_EVEN = (0.2, 0.025)  # seconds to the first token and per token: an engine of the published size, not busy
_UNIT = "rackstack-bench-upstream"
_RANK = "rackstack-rank.service"
_LIMIT = 600.0


def of_the_lab(fleet: Served) -> Iterator[Figure]:
    """Yield what it adds to the lab's engine, which takes few requests at once, on the same core."""
    direct, through = _both(fleet, tokens=32, rounds=2)
    what = f"gateway before the lab's engine, {STREAMS} streams"
    yield added(f"{what}: to the first token", through[0], direct[0])
    yield added(f"{what}: per token", through[1], direct[1])


def of_an_even_engine(fleet: Served) -> Iterator[Figure]:
    """Yield what it adds to an engine that is as even as a clock; the fleet's own is stopped for good."""
    head = fleet.hosts[0]
    port = _engine_port(fleet)
    for host in fleet.hosts:  # a rank that waits for its peers takes a core
        _said(host, f"systemctl stop {_RANK}")
    with _instead(head, port):
        direct, through = _both(fleet, tokens=64, rounds=5)
    first, then = (f"{seconds * 1000:.0f} ms" for seconds in _EVEN)
    what = f"gateway ÷ direct, {STREAMS} streams of {first} and then {then} a token"
    yield quotient(f"{what}: to the first token", through[0], direct[0], most=1.02)
    yield quotient(f"{what}: per token", through[1], direct[1], most=1.02)


def _both(fleet: Served, tokens: int, rounds: int) -> tuple[list[float], list[float]]:
    """Return seconds to the first token and per token: directly, and through the gateway."""
    direct = {"name": "direct", "port": _engine_port(fleet), "key": fleet.engine_key, "authority": ""}
    through = {
        "name": "through",
        "port": _gateway(fleet)["gateway_port"],
        "key": next(iter(fleet.keys.values())),
        "authority": fleet.authority,
    }
    wanted = {
        "concurrency": STREAMS,
        "tokens": tokens,
        "rounds": rounds,
        "model": fleet.model,
        "targets": [direct, through],
    }
    program = shlex.quote((_HERE / "streams.py").read_text())
    shown = _said(fleet.hosts[0], f"python3 -c {program}", json.dumps(wanted))
    measured: dict[str, list[float]] = json.loads(shown)
    return measured["direct"], measured["through"]


@contextmanager
def _instead(head: HostRecord, port: int) -> Iterator[None]:
    """Let the even engine listen where the fleet's own did."""
    program = shlex.quote((_HERE / "upstream.py").read_text())
    first, then = _EVEN
    _said(head, f"systemd-run --quiet --unit={_UNIT} python3 -c {program} {port} {first} {then}")
    _said(head, f"timeout 20 sh -c 'until ss -Hltn | grep -q 127.0.0.1:{port}; do sleep 0.1; done'")
    try:
        yield
    finally:
        _said(head, f"systemctl stop {_UNIT}")


def _engine_port(fleet: Served) -> int:
    return int(_gateway(fleet)["gateway_upstream"].rpartition(":")[2])


def _gateway(fleet: Served) -> Mapping[str, Any]:
    [variables] = [inputs.variables for inputs, _ in fleet.playbooks if inputs.playbook == "access"]
    return variables


def _said(host: HostRecord, command: str, stdin: str = "") -> str:
    answer = ssh.run(host, command, deadline=_LIMIT, stdin=stdin)
    if answer.code:
        said = (answer.err.strip().splitlines() or ["no output"])[-1]
        raise Refusal(f"bench: host {host.name}: `{command.splitlines()[0][:60]}` failed: {said}")
    return answer.out

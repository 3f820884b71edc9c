"""The program that ranks run: what is told of them, and how bandwidth is counted. No torch is here."""

from __future__ import annotations

import os
import signal

import pytest

from components.readiness.gates import exchange


@pytest.mark.parametrize(
    ("name", "world", "counted"),
    [("all_reduce", 8, 1.75), ("alltoall", 8, 0.875), ("all_reduce", 2, 1.0), ("alltoall", 2, 0.5)],
)
def test_bandwidth_is_counted_as_nccl_tests_does(name: str, world: int, counted: float) -> None:
    assert exchange.busbw(name, 2 * 10**9, 2.0, world) == counted


def test_of_the_ranks_lines_those_are_kept_that_tell_their_way() -> None:
    lines = [
        "tray-0:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
        "tray-0:1:2 [0] NCCL INFO comm 0x55 rank 0 nRanks 8 nNodes 1 localRanks 4 localRank 0 MNNVL 1",
        "tray-0:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/MNNVL",
        'rackstack-measured: {"collective": "all_reduce", "size": 8, "busbw": 1.0, "wrong": 0}',
        "",
    ]
    assert exchange.told(0, lines) == {
        "code": 0,
        "log": "\n".join(lines[1:3]),
        "measured": [{"collective": "all_reduce", "size": 8, "busbw": 1.0, "wrong": 0}],
        "error": "",
    }
    assert (
        exchange.told(1, [*lines, "Traceback", " a", "RuntimeError: b"])["error"]
        == "Traceback a RuntimeError: b"
    )


def test_no_way_is_lost_among_those_that_are_told_often() -> None:
    often = [f"a:1:2 [{rank}] NCCL INFO Channel 0{rank}/0 : 0[0] -> 1[1] via P2P/MNNVL" for rank in range(9)]
    once = "b:1:2 [7] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0"
    assert exchange.told(0, [*often, once, *often])["log"].splitlines() == [often[-1], once]


def test_a_rank_that_fails_ends_the_others() -> None:
    waits = os.fork()
    if not waits:
        signal.pause()
    fails = os.fork()
    if not fails:
        os._exit(7)
    assert exchange.await_all({waits: 0, fails: 1}) == 7


def test_exchanges_are_timed_after_a_warm_up_and_between_two_meetings() -> None:
    said: list[str] = []
    assert exchange.timed(lambda: said.append("x"), 3, lambda: said.append("all")) >= 0
    assert said == ["x", "x", "all", "x", "x", "x", "all"]

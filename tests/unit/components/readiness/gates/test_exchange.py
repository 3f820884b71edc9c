"""The program that ranks run: what is told of them, and how bandwidth is counted. No torch is here."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from components.readiness.gates import exchange

if TYPE_CHECKING:
    from pathlib import Path

COMM = "tray-0:1:2 [0] NCCL INFO comm 0x55 rank 0 nRanks 8 nNodes 1 localRanks 4 localRank 0 MNNVL 1"
CHANNEL = "tray-0:1:2 [0] NCCL INFO Channel {:02}/0 : 0[0] -> 1[1] via {}"
FIGURE = {"collective": "all_reduce", "size": 8, "busbw": 1.0, "wrong": 0}


@pytest.mark.parametrize(
    ("name", "world", "counted"),
    [("all_reduce", 8, 1.75), ("alltoall", 8, 0.875), ("all_reduce", 2, 1.0), ("alltoall", 2, 0.5)],
)
def test_bandwidth_is_counted_as_nccl_tests_does(name: str, world: int, counted: float) -> None:
    assert exchange.busbw(name, 2 * 10**9, 2.0, world) == counted


def test_of_nccls_lines_those_are_kept_that_tell_its_way_and_each_way_once() -> None:
    ways = [CHANNEL.format(channel, "P2P/MNNVL") for channel in range(5000)]
    last = CHANNEL.format(0, "NET/Socket/0")
    log = ["tray-0:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>", COMM, *ways, "", last]
    said = [f"{exchange.MARK}{json.dumps(FIGURE)}"]
    answer = exchange.told(0, 0, [said, []], [log, []])
    assert answer == {
        "code": 0,
        "log": "\n".join((COMM, ways[-1], last)),
        "measured": [FIGURE],
        "error": "",
    }


def test_the_words_are_those_of_the_rank_that_failed_first() -> None:
    said = [["killed, says this one"], ["", "Traceback", " a", "RuntimeError: b"]]
    logs = [["x NCCL WARN of one that was ended"], ["x NCCL WARN the cause"]]
    answer = exchange.told(1, 1, said, logs)
    assert answer["error"] == "Traceback a RuntimeError: b"
    assert answer["log"].splitlines() == [*logs[1], *logs[0]]


def test_a_rank_that_fails_ends_the_others_and_what_it_said_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_part(job: exchange.Job, local: int) -> list[dict[str, object]]:
        if local == 0:
            signal.pause()
        exchange.log_of(tmp_path / str(local)).write_text(os.environ["NCCL_DEBUG_FILE"])
        raise RuntimeError(job["backend"])

    monkeypatch.setattr(exchange, "take_part", take_part)
    monkeypatch.setattr(sys, "stderr", os.fdopen(2, "w", closefd=False))  # pytest's would swallow it
    files = [tmp_path / "0", tmp_path / "1"]
    children = {exchange.start({"backend": "none"}, local, file): local for local, file in enumerate(files)}
    assert exchange.await_all(children) == (1, 1)
    assert exchange.lines(files[1])[-1] == "RuntimeError: none"
    assert exchange.lines(exchange.log_of(files[1])) == [f"{tmp_path}/1.nccl"]
    assert exchange.lines(exchange.log_of(files[0])) == []


def test_when_nobody_reads_any_more_all_of_it_ends() -> None:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        exchange.end_unread(write)
    os.close(write)
    os.close(read)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_exchanges_are_timed_after_a_warm_up_and_between_two_meetings() -> None:
    said: list[str] = []
    assert exchange.timed(lambda: said.append("x"), 3, lambda: said.append("all")) >= 0
    assert said == ["x", "x", "all", "x", "x", "x", "all"]

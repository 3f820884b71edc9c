"""Let the ranks of one host take part in collectives of the engine's own size, and print what came of it.

Usage: exchange.py JOB   (JSON: backend, address, port, world, first, local; run by the engine's own Python)

One process stands for each GPU, as in the engine. Each checks what it received, and the first of all tells
the bus bandwidth: bytes over time, times 2(n-1)/n for all-reduce and (n-1)/n for all-to-all, as nccl-tests
counts (doc/PERFORMANCE.md). Prints JSON: `code`, `log` (NCCL's lines that tell its way), `measured`, `error`.
"""

import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

SIZES = {"nccl": (2**20, 2**26, 2**30), "gloo": (2**16, 2**22)}
"""Bytes of a message of each rank, the largest last: that one's bandwidth counts."""
ROUNDS = {"nccl": 20, "gloo": 3}
WARM_UP = 2
PATIENCE = timedelta(minutes=5)
"""For ranks that do not come: a firewall, another interface, a host that failed."""
FLOAT = 4
"""Bytes of a number; whole ones this small are exact."""
TELLS = re.compile(r"NCCL WARN|NCCL INFO (?:.* via |comm |.*MNNVL|.*NVLS)")
MARK = "rackstack-measured: "
LAST_LINES = 3

Job = dict[str, Any]
Exchanged = tuple[int, Callable[[], object]]
"""How many numbers were received that are not those that were sent, and what exchanges them again."""


def main(argument: str) -> None:
    """Start a process for each rank of this host, and print what they told."""
    job = json.loads(argument)
    outputs = [tempfile.TemporaryFile("w+", errors="replace") for _ in range(job["local"])]  # noqa: SIM115 -- they outlive this line
    children = {start(job, local, output.fileno()): local for local, output in enumerate(outputs)}
    code = await_all(children)
    lines = []
    for output in outputs:
        output.seek(0)
        lines += output.read().splitlines()
    sys.stdout.write(json.dumps(told(code, lines)))


def start(job: Job, local: int, output: int) -> int:
    """Start one rank; return its process number."""
    child = os.fork()
    if child:
        return child
    os.dup2(output, 1)
    os.dup2(output, 2)
    code = 1
    try:
        for measured in take_part(job, local):
            print(f"{MARK}{json.dumps(measured)}", flush=True)  # noqa: T201 -- into this rank's own file
        code = 0
    finally:
        sys.stdout.flush()
        if code:
            import traceback  # noqa: PLC0415 -- only a failure needs it

            traceback.print_exc()
            sys.stderr.flush()
        os._exit(code)


def await_all(children: dict[int, int]) -> int:
    """Wait for all ranks; return how the first failed. The others would wait for it, so they are ended."""
    left, worst = set(children), 0
    while left:
        child, status = os.wait()
        left.discard(child)
        code = os.waitstatus_to_exitcode(status)
        if code and not worst:
            worst = abs(code)
            for other in left:
                os.kill(other, signal.SIGKILL)
    return worst


def told(code: int, lines: list[str]) -> dict[str, Any]:
    """Return what the ranks' lines tell."""
    measured = [json.loads(line.removeprefix(MARK)) for line in lines if line.startswith(MARK)]
    # A way is told again for every channel of every pair of ranks: once is enough, and none is cut off.
    log = {line.rpartition(" via ")[2]: line for line in lines if TELLS.search(line)}
    last = [line.strip() for line in lines if line.strip() and not line.startswith(MARK)][-LAST_LINES:]
    return {
        "code": code,
        "log": "\n".join(log.values()),
        "measured": measured,
        "error": " ".join(last) if code else "",
    }


def take_part(job: Job, local: int) -> Iterator[dict[str, Any]]:
    """Run all collectives as one rank; the first rank yields what was measured."""
    ranks = Ranks(job, local)
    for size in SIZES[job["backend"]]:
        for collective in (ranks.all_reduce, ranks.alltoall):
            count = size // FLOAT // ranks.world * ranks.world
            wrong, again = collective(count)
            seconds = timed(again, ROUNDS[job["backend"]], ranks.settle)
            slowest, wrong_anywhere = ranks.shared(seconds, wrong)
            if ranks.rank == 0:
                yield {
                    "collective": collective.__name__,
                    "size": count * FLOAT,
                    "busbw": round(busbw(collective.__name__, count * FLOAT, slowest, ranks.world), 3),
                    "wrong": wrong_anywhere,
                }
    ranks.leave()


class Ranks:
    """All ranks, as one of them sees them."""

    def __init__(self, job: Job, local: int) -> None:
        """Meet the others."""
        # Only now: no CUDA context outlives a fork.
        self._torch, self._dist = import_module("torch"), import_module("torch.distributed")
        self._on_gpu = job["backend"] == "nccl"
        self._device = self._torch.device("cuda", local) if self._on_gpu else self._torch.device("cpu")
        if self._on_gpu:
            self._torch.cuda.set_device(self._device)
        self.rank, self.world = job["first"] + local, job["world"]
        meet = f"tcp://{job['address']}:{job['port']}"
        self._dist.init_process_group(
            job["backend"], init_method=meet, rank=self.rank, world_size=self.world, timeout=PATIENCE
        )
        self._all = self._torch.arange(self.world, dtype=self._torch.float32, device=self._device)

    def all_reduce(self, count: int) -> Exchanged:
        """Add up over all ranks."""
        given = self._torch.full((count,), self.rank + 1.0, device=self._device)
        again = partial(self._dist.all_reduce, given)
        again()
        wrong = int((given != self.world * (self.world + 1) / 2).sum())
        given.zero_()
        return wrong, again

    def alltoall(self, count: int) -> Exchanged:
        """Send every rank its part."""
        given = (self.rank * self.world + self._all).repeat_interleave(count // self.world)
        taken = self._torch.zeros_like(given)
        again = partial(self._dist.all_to_all_single, taken, given)
        again()
        wanted = (self._all * self.world + self.rank).repeat_interleave(count // self.world)
        return int((taken != wanted).sum()), again

    def settle(self) -> None:
        """Wait until all ranks have come here with nothing left to do."""
        if self._on_gpu:
            self._torch.cuda.synchronize()
        self._dist.barrier()

    def shared(self, seconds: float, wrong: int) -> tuple[float, int]:
        """Return the slowest rank's time, and the wrong numbers of all."""
        own = self._torch.tensor([seconds, float(wrong)], dtype=self._torch.float64, device=self._device)
        every = [self._torch.zeros_like(own) for _ in range(self.world)]
        self._dist.all_gather(every, own)
        return max(float(each[0]) for each in every), int(sum(float(each[1]) for each in every))

    def leave(self) -> None:
        """Part from the others."""
        self._dist.destroy_process_group()


def timed(exchange: Callable[[], object], rounds: int, settle: Callable[[], None]) -> float:
    """Return the seconds of one exchange."""
    for _ in range(WARM_UP):
        exchange()
    settle()
    begin = time.perf_counter()
    for _ in range(rounds):
        exchange()
    settle()
    return (time.perf_counter() - begin) / rounds


def busbw(name: str, size: int, seconds: float, world: int) -> float:
    """Return the bus bandwidth in GB/s."""
    factor = (2 if name == "all_reduce" else 1) * (world - 1) / world
    return size / seconds * factor / 10**9


if __name__ == "__main__":
    main(*sys.argv[1:])

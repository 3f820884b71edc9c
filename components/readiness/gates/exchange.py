"""Let the ranks of one host take part in collectives of the engine's own size, and print what came of it.

Usage: exchange.py JOB   (JSON: backend, address, port, world, first, local; run by the engine's own Python)

One process stands for each GPU, as in the engine. Each checks what it received, and the first of all tells
the bus bandwidth: bytes over time, times 2(n-1)/n for all-reduce and (n-1)/n for all-to-all, as nccl-tests
counts (doc/PERFORMANCE.md). Prints JSON: `code`, `log` (NCCL's lines that tell its way), `measured`, `error`.
When nobody is left to read that, all of it ends.
"""

import json
import os
import re
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

SIZES = {"nccl": (2**20, 2**26, 2**30), "gloo": (2**16, 2**22)}
"""Bytes of a message of each rank, the largest last: that one's bandwidth counts."""
ROUNDS = {"nccl": 20, "gloo": 3}
WARM_UP = 2
PATIENCE = timedelta(minutes=5)
"""For ranks that do not come: a firewall, another interface, a host that failed."""
FLOAT = 4
"""Bytes of a number; whole ones this small are exact."""
PERIOD = 1024
"""Numbers after which a message repeats itself, so that a part in another place is seen too."""
TELLS = re.compile(r"NCCL WARN|NCCL INFO (?:(?:Channel|CollNet) .* via |comm |MNNVL|NVLS|Connected NVLS)")
WAY = re.compile(r" via ")
MARK = "rackstack-measured: "
LAST_LINES = 3

Job = dict[str, Any]
Exchanged = tuple[int, Callable[[], object]]
"""How many numbers were received that are not those that were sent, and what exchanges them again."""


def main(argument: str) -> None:
    """Start a process for each rank of this host, and print what they told."""
    job = json.loads(argument)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / str(local) for local in range(job["local"])]
        children = {start(job, local, file): local for local, file in enumerate(files)}
        threading.Thread(target=end_unread, args=(sys.stdout.fileno(),), daemon=True).start()
        code, first = await_all(children)
        answer = told(code, first, [lines(file) for file in files], [lines(log_of(file)) for file in files])
    sys.stdout.write(json.dumps(answer))


def end_unread(output: int) -> None:
    """End this process when nobody reads its output any more; its unit ends the ranks with it."""
    poll = select.poll()
    poll.register(output, 0)  # errors and the end are always reported
    poll.poll()
    os._exit(1)


def start(job: Job, local: int, file: Path) -> int:
    """Start one rank, which writes into that file; return its process number."""
    child = os.fork()
    if child:
        return child
    output = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # A file of its own, because NCCL flushes no other: what it logged would be gone with a rank that fails.
    os.environ["NCCL_DEBUG_FILE"] = str(log_of(file))
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


def log_of(file: Path) -> Path:
    """Return where NCCL logs for the rank that writes into a file."""
    return file.with_suffix(".nccl")


def lines(file: Path) -> list[str]:
    """Return the lines of a file; none where there is none."""
    return file.read_text(errors="replace").splitlines() if file.exists() else []


def await_all(children: dict[int, int]) -> tuple[int, int]:
    """Wait for all ranks; return how the first failed, and which: the others, who wait for it, are ended."""
    left, worst, first = set(children), 0, 0
    while left:
        child, status = os.wait()
        left.discard(child)
        code = os.waitstatus_to_exitcode(status)
        if code and not worst:
            worst, first = abs(code), children[child]
            for other in left:
                os.kill(other, signal.SIGKILL)
    return worst, first


def told(code: int, first: int, said: list[list[str]], logs: list[list[str]]) -> dict[str, Any]:
    """Return what the ranks tell.

    Args:
        code: How the first that failed has failed; 0: none did.
        first: Which one that was.
        said: Each rank's own lines.
        logs: NCCL's lines of each.
    """
    measured = [json.loads(line.removeprefix(MARK)) for own in said for line in own if line.startswith(MARK)]
    last = [line.strip() for line in said[first] if line.strip() and not line.startswith(MARK)][-LAST_LINES:]
    order = [logs[first], *logs[:first], *logs[first + 1 :]]
    return {
        "code": code,
        "log": "\n".join(telling(line for log in order for line in log)),
        "measured": measured,
        "error": " ".join(last) if code else "",
    }


def telling(log: Iterable[str]) -> Iterable[str]:
    """Return the lines that tell NCCL's way, each way once: ranks have thousands of channels."""
    return {WAY.split(line)[-1]: line for line in log if TELLS.search(line)}.values()


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
        address = f"[{job['address']}]" if ":" in job["address"] else job["address"]
        meet = f"tcp://{address}:{job['port']}"
        self._dist.init_process_group(
            job["backend"], init_method=meet, rank=self.rank, world_size=self.world, timeout=PATIENCE
        )
        self._all = self._torch.arange(self.world, dtype=self._torch.float32, device=self._device)

    def all_reduce(self, count: int) -> Exchanged:
        """Add up over all ranks."""
        places = self._places(count)
        given = places + (self.rank + 1)
        again = partial(self._dist.all_reduce, given)
        again()
        wrong = int((given != places * self.world + self.world * (self.world + 1) / 2).sum())
        given.zero_()
        return wrong, again

    def alltoall(self, count: int) -> Exchanged:
        """Send every rank its part."""
        part = count // self.world
        places = self._places(part).repeat(self.world)
        given = (self.rank * self.world + self._all).repeat_interleave(part) + places
        taken = self._torch.zeros_like(given)
        again = partial(self._dist.all_to_all_single, taken, given)
        again()
        wanted = (self._all * self.world + self.rank).repeat_interleave(part) + places
        return int((taken != wanted).sum()), again

    def _places(self, count: int) -> Any:
        """Return a number for each place in a message."""
        return (
            self._torch.arange(count, dtype=self._torch.int32, device=self._device).remainder(PERIOD).float()
        )

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

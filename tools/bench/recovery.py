"""How long it takes to clear up after a killed `up`, once nothing of it is left to wait for."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from components.processes import pids
from lifecycle import orphans
from stacks.errors import Refusal
from tools.bench import rotation
from tools.bench.figure import Figure, within
from tools.bench.project import QUIET
from tools.bootstrap.work import CHECKOUT
from tools.drive.session import STATE, Session

_POLL = 0.1  # seconds
_LIMIT = 300.0


def figures(session: Session, stack_file: Path) -> Iterator[Figure]:
    """Yield how long `recover` takes after an `up` was killed while it ran a playbook."""
    rotation.write_keys(stack_file, {"second": 3, "third": 1})
    _kill_an_up(session, stack_file)
    _await_its_end(session)
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "lifecycle", "recover", "-s", session.name],
        cwd=CHECKOUT,
        env=session.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    taken = time.perf_counter() - begin
    if done.returncode:
        raise Refusal(f"bench: `lifecycle recover` failed: {done.stderr.strip()}")
    yield within("`recover` after a killed `up`, nothing of it alive", taken, most=5)


def _kill_an_up(session: Session, stack_file: Path) -> None:
    """Kill an `up` that has something to do, as soon as Ansible runs."""
    log = STATE / "bench.log"
    command = [
        "pulumi",
        "up",
        "--yes",
        "--skip-preview",
        "--stack",
        session.name,
        "--config-file",
        str(stack_file),
    ]
    with log.open("w") as file:
        running = subprocess.Popen(
            [*command, *QUIET],
            cwd=CHECKOUT,
            env=session.environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    end = time.monotonic() + _LIMIT
    while not any("ansible-playbook" in _command(pid) for pid in pids()):
        if running.poll() is not None or time.monotonic() > end:
            raise Refusal(f"bench: the `up` that was to be killed ran no Ansible: read {log}")
        time.sleep(_POLL)
    running.send_signal(signal.SIGKILL)
    running.wait()


def _await_its_end(session: Session) -> None:
    """Wait until the processes that the dead engine had started have ended by themselves."""
    end = time.monotonic() + _LIMIT
    while orphans.orphans(session):
        if time.monotonic() > end:
            raise Refusal("bench: processes of a killed `up` do not end")
        time.sleep(_POLL)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:  # it has ended
        return ""

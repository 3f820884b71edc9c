"""Run a playbook through its supervisor process and follow it."""

import contextlib
import json
import math
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import IO, Any

from components.hosts.events import RunVerdict
from components.hosts.inventory import inventory, known_hosts, literal, openers
from components.hosts.job import Job
from components.hosts.processes import naming, unending
from components.hosts.record import HostRecord
from components.plugin.kind import Run
from components.processes import end_all, stat
from stacks.errors import Refusal

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".state" / "runs"
MEMORY_FOLDERS = ("/dev/shm", "/run")  # noqa: S108 -- a private folder is made inside; tmpfs keeps secrets off disks
# A single step (wheels, a checkpoint, a start) may be silent for minutes; the deadline bounds the whole.
IDLE_SECONDS = 900.0
MOST_FORKS = 16
POLL_SECONDS = 0.2
# From a stop to the supervisor's verdict; it ends its processes twice, each time within five seconds.
LAST_WORDS_SECONDS = 15.0
_PRIVATE = re.compile(r"rackstack-(?P<pid>\d+)-(?P<born>\d+)-.+")


@dataclass(frozen=True)
class Order:
    """What to run, where, with what.

    Attributes:
        fleet: Identity of the fleet.
        path: The playbook's file.
        hosts: Who takes part, in rank order.
        variables: Variables of the whole fleet, no secrets.
        host_variables: Host name → its own variables.
        secrets: Variables that only ever lie in memory.
    """

    fleet: str
    path: Path
    hosts: Sequence[HostRecord]
    variables: Mapping[str, Any]
    host_variables: Mapping[str, Mapping[str, Any]]
    secrets: Mapping[str, str]


def carry_out(order: Order, run: Run) -> RunVerdict:
    """Run a playbook to its end, showing progress; nothing of it is left running afterwards.

    Setting `run.stop` ends it within seconds. What a failed run left to read is named in the last sentence.

    Raises:
        Refusal: Ansible would read another folder than the one that the playbook lies in.
    """
    private = _private_folder()
    name = f"{order.fleet}-{order.path.stem}-{time.strftime('%Y%m%dT%H%M%S')}-{private.name[-4:]}"
    artefacts = KEPT / name
    try:
        _require_literal(order.path, _environment(order, private))
        artefacts.mkdir(parents=True, mode=0o700)
        job = _write_down(order, private, artefacts, run.deadline)
        verdict = _follow(_start(order, private, artefacts), run) or _stand_in(job)
    finally:
        shutil.rmtree(private, ignore_errors=True)
    if verdict.ok:
        return verdict
    shown = artefacts.relative_to(ROOT) if artefacts.is_relative_to(ROOT) else artefacts
    return RunVerdict(verdict.began, (*verdict.failures, f"what Ansible did can be read in {shown}"))


def _require_literal(path: Path, environment: Mapping[str, str]) -> None:
    meant = Template(str(path)).safe_substitute(environment)
    if meant != str(path):
        raise Refusal(
            f"the checkout lies in {path.parents[1]}, and Ansible takes a word after its dollar sign for a "
            "variable: move it to a path without one"
        )


def _private_folder() -> Path:
    """Make the folder in memory, named after this process, once those of dead processes are gone."""
    memory = Path(next(folder for folder in MEMORY_FOLDERS if os.access(folder, os.W_OK)))
    for folder in list(abandoned(memory)):
        shutil.rmtree(folder, ignore_errors=True)
    own = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"rackstack-{own}-{_born(own)}-", dir=memory))


def abandoned(memory: Path) -> Iterator[Path]:
    """Yield the private folders in a folder in memory whose process is gone."""
    for folder in memory.iterdir():
        if (owner := _PRIVATE.fullmatch(folder.name)) and _born(int(owner["pid"])) != int(owner["born"]):
            yield folder


def _born(pid: int) -> int | None:
    seen = stat(pid)
    return seen.born if seen else None


def _write_down(order: Order, private: Path, artefacts: Path, deadline: float | None) -> Job:
    for name, keys in known_hosts(order.hosts).items():
        (private / name).write_text(keys, encoding="utf-8")
    everyone = inventory(order.hosts, order.variables, order.host_variables, str(private))
    (private / "inventory.yml").write_text(literal(everyone), encoding="utf-8")
    (private / "secrets.yml").write_text(literal(order.secrets), encoding="utf-8")
    (private / "ansible.cfg").touch()  # shields the run from the configuration of the account and the machine
    job = Job(
        parent=os.getpid(),
        playbook=order.path.stem,
        path=str(order.path),
        private=str(private),
        artefacts=str(artefacts),
        hosts=[host.name for host in order.hosts],
        withheld=list(order.secrets.values()),
        idle=IDLE_SECONDS,
        deadline=deadline,
        openers=openers(order.hosts, str(private)),
    )
    job.write(private / "job.json")
    for path in private.iterdir():
        path.chmod(0o600)
    return job


def _start(order: Order, private: Path, artefacts: Path) -> subprocess.Popen[bytes]:
    with (artefacts / "supervisor.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "components.hosts.supervisor", str(private / "job.json")],
            cwd=ROOT,
            env=_environment(order, private),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )


def _environment(order: Order, private: Path) -> dict[str, str]:
    """Return the whole environment of the run: nothing of the plugin's own gets in but PATH."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(private),
        "TMPDIR": str(private),
        "LANG": "C.UTF-8",
        "ANSIBLE_CONFIG": str(private / "ansible.cfg"),
        "ANSIBLE_HOME": str(private / "ansible"),
        "ANSIBLE_ROLES_PATH": str(order.path.parent / "roles"),
        "ANSIBLE_INVENTORY_ENABLED": "yaml",
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "ANSIBLE_HOST_KEY_CHECKING": "true",
        "ANSIBLE_PIPELINING": "true",
        "ANSIBLE_FORKS": str(min(len(order.hosts), MOST_FORKS)),
        "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=60s",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(private / "cp"),
        "ANSIBLE_RETRY_FILES_ENABLED": "false",
        "ANSIBLE_NO_TARGET_SYSLOG": "true",  # hosts would log every module's arguments
    }


def _follow(process: subprocess.Popen[bytes], run: Run) -> RunVerdict | None:
    """Show what the supervisor says until it ends; return its verdict, None where it was killed."""
    verdict = None
    with process, _ended(process):
        assert process.stdout is not None  # noqa: S101 -- it was opened as a pipe; for the type checker
        for line in _lines(process.stdout, process, run):
            message = json.loads(line)
            if "line" in message:
                run.progress(message["line"])
            else:
                verdict = RunVerdict(message["verdict"]["began"], tuple(message["verdict"]["failures"]))
    return verdict


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """See the supervisor end, whatever happens here."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(LAST_WORDS_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _lines(pipe: IO[bytes], process: subprocess.Popen[bytes], run: Run) -> Iterator[bytes]:
    """Yield whole lines until the pipe closes; pass a stop on, and kill where it is not heard in time."""
    end, begun = math.inf, b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if run.stop.is_set() and end == math.inf:
                process.terminate()
                end = time.monotonic() + LAST_WORDS_SECONDS
            if time.monotonic() > end:
                process.kill()
                return
            if not selector.select(POLL_SECONDS):
                continue
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                return
            *lines, begun = (begun + chunk).split(b"\n")
            yield from lines


def _stand_in(job: Job) -> RunVerdict:
    """Do what a killed supervisor could not do any more."""
    left = end_all(lambda: naming(job.private))
    job.tidy(keep=True)
    lines = (Path(job.artefacts) / "supervisor.log").read_text(errors="replace").strip().splitlines()
    reason = lines[-1] if lines else "it left no word"
    killed = f"playbook {job.playbook}: its supervisor process was killed: {reason}"
    return RunVerdict(began=True, failures=(killed, unending(left)) if left else (killed,))

"""One Ansible run that nothing outlives: `python -m components.hosts.supervisor <job.json>`.

The process adopts every orphan of the run, is told when the plugin dies, ends all descendants before it
ends itself, and speaks JSON lines on its standard output: `{"line": …}` while it runs, `{"verdict": …}`
at the end.
It is the only importer of ansible_runner.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from components.hosts.events import RunVerdict, Story
from components.hosts.job import Job
from components.hosts.processes import descendants, unending
from components.processes import end_all

SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>
POLL_SECONDS = 0.5
OPENING_SECONDS = 12.0  # more than ssh gives a connection, less than a stop gives the supervisor
STDOUT = 1
RERUN = "see what is busy or does not answer there, then run the command again, which goes on"


class Watch:
    """Decides when a run is broken off, and remembers why."""

    def __init__(self, job: Job) -> None:
        self.stop = threading.Event()
        self.ending: str | None = None
        self._job = job
        self._began = self._heard = time.monotonic()
        self._last = ""

    def heard(self, lines: list[str]) -> None:
        """Note that the run is alive, and what it began last."""
        self._heard = time.monotonic()
        self._last = lines[-1] if lines else self._last

    def must_end(self) -> bool:
        """Say whether the run has to end; its processes are gone then, for Ansible leaves them behind."""
        self.ending = self.ending or self._reason()
        if self.ending is not None:
            end_all(descendants)
        return self.ending is not None

    def _reason(self) -> str | None:
        now, job = time.monotonic(), self._job
        last = f"; the last thing it began was {self._last!r}" if self._last else ""
        if self.stop.is_set():
            return f"playbook {job.playbook} was stopped{last}; run the command again to go on"
        ended = f"playbook {job.playbook} was ended:"
        if now - self._heard > job.idle:
            return f"{ended} nothing was heard of it for {job.idle:g} s{last}; {RERUN}"
        if job.deadline is not None and now - self._began > job.deadline:
            return f"{ended} it took more than its {job.deadline:g} s{last}; {RERUN}"
        return None


def main(path: str) -> None:
    """Carry out the job in a file."""
    job = Job.read(Path(path))
    watch = Watch(job)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: watch.stop.set())
    _own_descendants(job.parent, watch)
    # Ansible may have begun when anything but its own end brings us here.
    verdict = RunVerdict(began=True, failures=("the supervisor broke down",))
    try:
        _open_ways(job, watch)
        verdict = _play(job, watch)
    finally:
        if left := end_all(descendants):
            verdict = replace(verdict, failures=(*verdict.failures, unending(left)))
        job.tidy(keep=not verdict.ok)
        _say({"verdict": asdict(verdict)})


def _own_descendants(parent: int, watch: Watch) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(SET_CHILD_SUBREAPER, 1)
    libc.prctl(SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before it could be watched
        watch.stop.set()


def _open_ways(job: Job, watch: Watch) -> None:
    """Open the connections to jump hosts; where one fails, Ansible's own connections say why."""
    for command in job.openers:
        if watch.stop.is_set():
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                timeout=OPENING_SECONDS,
                check=False,
            )


def _play(job: Job, watch: Watch) -> RunVerdict:
    import ansible_runner  # noqa: PLC0415 -- after the signals are set, so that no moment is unguarded

    story = Story()

    def hear(event: Mapping[str, Any]) -> bool:
        lines = story.hear(event)
        watch.heard(lines)
        for line in lines:
            if not _say({"line": line}):
                watch.stop.set()
        return True

    try:
        ansible_runner.run(
            private_data_dir=job.artefacts,
            ident="run",
            playbook=job.path,
            inventory=f"{job.private}/inventory.yml",
            cmdline=f"-e @{job.private}/secrets.yml",
            quiet=True,
            event_handler=hear,
            cancel_callback=watch.must_end,
            settings={"pexpect_timeout": POLL_SECONDS},
        )
    except Exception as error:  # noqa: BLE001 -- whatever breaks in the library becomes the verdict
        watch.ending = watch.ending or f"playbook {job.playbook} broke down: {error or type(error).__name__}"
    return story.verdict(job.hosts, watch.ending)


def _say(message: Mapping[str, Any]) -> bool:
    """Tell the plugin; False when it is gone."""
    text = memoryview(json.dumps(message).encode() + b"\n")
    try:
        while text:
            text = text[os.write(STDOUT, text) :]
    except BrokenPipeError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1])

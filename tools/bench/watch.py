"""Whether Ansible runs while something else does."""

import threading
from collections.abc import Callable
from pathlib import Path

from components.hosts.processes import descendants

_POLL = 0.05  # seconds; the shortest Ansible run takes seconds


def ansible_during(command: Callable[[], object]) -> int:
    """Run a command and return how many processes of Ansible were seen below it."""
    seen: set[int] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(_POLL):
            seen.update(filter(_is_ansible, descendants()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        command()
    finally:
        done.set()
        thread.join()
    return len(seen)


def _is_ansible(pid: int) -> bool:
    try:
        return b"ansible-playbook" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False

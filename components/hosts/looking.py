"""One look per host, however many ask for it at the same time."""

import threading
from concurrent.futures import Future

from components.hosts import markers, ssh
from components.hosts.record import HostRecord
from components.hosts.ssh import Answer

_looks: dict[tuple[HostRecord, str], Future[Answer]] = {}
_lock = threading.Lock()


def look(host: HostRecord, fleet: str, deadline: float) -> Answer:
    """Return what a host shows of all playbooks of a fleet.

    Whoever asks while a look is under way gets its answer: the engine reads all playbooks at once, and each
    look costs the host a tenth of a second of its processor.

    Args:
        host: Whom to look at.
        fleet: The fleet whose markers count.
        deadline: Seconds for it all.

    Raises:
        Unreachable: The host did not answer within the deadline, or is not the one that is known.
    """
    key = (host, fleet)
    with _lock:
        running = _looks.get(key)
        mine = running is None
        future = _looks[key] = running or Future()
    if mine:
        _fulfil(key, future, deadline)
    return future.result()


def _fulfil(key: tuple[HostRecord, str], future: Future[Answer], deadline: float) -> None:
    host, fleet = key
    try:
        program = markers.PROGRAM.read_text(encoding="utf-8")
        answer = ssh.run(host, markers.look_command(fleet), deadline=deadline, stdin=program)
    except BaseException as error:  # noqa: BLE001 -- whoever waits must hear of it, whatever it was
        _forget(key)
        future.set_exception(error)
    else:
        _forget(key)
        future.set_result(answer)


def _forget(key: tuple[HostRecord, str]) -> None:
    with _lock:
        del _looks[key]

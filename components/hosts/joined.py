"""A socket here that is joined to a connection there, for whoever knows sockets only."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from typing import Protocol

CHUNK = 1 << 15


class Far(Protocol):
    """What is used of a connection there; a channel of paramiko has it."""

    def recv(self, nbytes: int, /) -> bytes:
        """Wait for bytes; none at its end."""

    def sendall(self, data: bytes, /) -> None:
        """Send all of it."""

    def shutdown_write(self) -> None:
        """Tell the end of what is sent."""

    def settimeout(self, timeout: float | None, /) -> None:
        """Say how long to wait for bytes."""

    def close(self) -> None:
        """End both directions."""


def joined(far: Far, ended: Callable[[], None]) -> socket.socket:
    """Return a socket that is one with a connection; whoever closes it ends both.

    Args:
        far: The connection.
        ended: Called when both have ended.
    """
    far.settimeout(None)
    ours, near = socket.socketpair()
    down = threading.Thread(target=_pump_down, args=(far, near), daemon=True)
    down.start()
    threading.Thread(target=_pump_up, args=(near, far, down, ended), daemon=True).start()
    return ours


def _pump_down(far: Far, near: socket.socket) -> None:
    """Carry what the host sends, and its end."""
    with contextlib.suppress(OSError, EOFError):
        while data := far.recv(CHUNK):
            near.sendall(data)
    with contextlib.suppress(OSError):
        near.shutdown(socket.SHUT_WR)


def _pump_up(near: socket.socket, far: Far, down: threading.Thread, ended: Callable[[], None]) -> None:
    """Carry what the caller sends, and its end; clear both sides away when the caller has closed its own."""
    try:
        with contextlib.suppress(OSError, EOFError):
            while data := near.recv(CHUNK):
                far.sendall(data)
            far.shutdown_write()
            _wait_for_close(near)
    finally:
        with contextlib.suppress(OSError, EOFError):  # of a connection that is gone, the end cannot be told
            far.close()
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)
        down.join()
        near.close()
        ended()


def _wait_for_close(near: socket.socket) -> None:
    """Wait until the peer reads no more; that it writes no more is less, and known already."""
    poll = select.poll()
    poll.register(near, 0)  # POLLHUP is always reported
    poll.poll()

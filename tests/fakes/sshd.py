"""An SSH server on loopback that forwards connections, and ends them in the middle of a command."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any, ParamSpec

import paramiko
from paramiko import common

from components.hosts.record import JumpHost
from tests.factories.hosts import host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from components.hosts.record import HostRecord

P = ParamSpec("P")


class FakeSshd(paramiko.ServerInterface):
    """Lets everybody in, unless it is told not to.

    Attributes:
        forwards: Whether connections are forwarded.
        trusts: Whether keys are accepted.
        breaks: Whether a command is taken, and the connection ends while it runs; else no session is granted.
        lines: The connections to it, those that were refused included.
    """

    def __init__(self) -> None:
        self.forwards = self.trusts = True
        self.breaks = False
        self.lines: list[socket.socket] = []
        self._wanted: dict[tuple[threading.Thread, int], int] = {}

    def get_allowed_auths(self, username: str) -> str:
        """Return how one logs in."""
        del username
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        """Accept it or not."""
        del username, key
        return common.AUTH_SUCCESSFUL if self.trusts else common.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        """Grant a session or not."""
        del kind, chanid
        return common.OPEN_SUCCEEDED if self.breaks else common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        """Take any command."""
        del channel, command
        return True

    def check_channel_direct_tcpip_request(
        self, chanid: int, origin: tuple[str, int], destination: tuple[str, int]
    ) -> int:
        """Say whether something listens there."""
        del origin
        if not self.forwards:
            return common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        try:
            socket.create_connection(destination).close()
        except ConnectionRefusedError:
            return common.OPEN_FAILED_CONNECT_FAILED
        self._wanted[threading.current_thread(), chanid] = destination[1]  # each transport is a thread
        return common.OPEN_SUCCEEDED

    def serve(self, line: socket.socket, key: paramiko.PKey) -> None:
        """Serve one connection until it ends."""
        self.lines.append(line)
        with contextlib.closing(paramiko.Transport(line)) as transport:
            transport.add_server_key(key)
            transport.start_server(server=self)
            while transport.is_active():
                channel = transport.accept(0.1)
                if channel is not None and self.breaks:
                    channel.recv(1)  # until whoever runs a command has nothing more to say
                    line.shutdown(socket.SHUT_RDWR)
                elif channel is not None:
                    self._forward(channel)

    def _forward(self, channel: paramiko.Channel) -> None:
        port = self._wanted.pop((channel.get_transport(), channel.get_id()))
        there = socket.create_connection(("127.0.0.1", port))
        _started(_up, channel, there)
        _started(_down, channel, there)


@contextlib.contextmanager
def serving(folder: Path, **known: Any) -> Iterator[tuple[FakeSshd, HostRecord]]:
    """Serve on a free port until the end of the block; the record leads there, and holds what is known."""
    server, shown, mine = FakeSshd(), paramiko.ECDSAKey.generate(), paramiko.ECDSAKey.generate()
    mine.write_private_key_file(str(folder / "key"))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                line, _ = listener.accept()
                _started(server.serve, line, shown)

        _started(accept)
        yield (
            server,
            host(
                port=listener.getsockname()[1],
                identity_file=str(folder / "key"),
                host_key=f"{shown.get_name()} {shown.get_base64()}",
                **known,
            ),
        )
        listener.shutdown(socket.SHUT_RDWR)


def as_jump(record: HostRecord, user: str = "ops") -> JumpHost:
    """Return a host's record as that of a jump host."""
    fields = record.model_dump(include=set(JumpHost.model_fields))
    return JumpHost(**fields | {"user": user})


def _started(work: Callable[P, None], *arguments: P.args, **named: P.kwargs) -> None:
    def do() -> None:
        # The other side may go at any moment, and so may the listener at the end of the block.
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            work(*arguments, **named)

    threading.Thread(target=do, daemon=True).start()


def _up(channel: paramiko.Channel, there: socket.socket) -> None:
    while data := channel.recv(1 << 15):
        there.sendall(data)
    there.shutdown(socket.SHUT_WR)


def _down(channel: paramiko.Channel, there: socket.socket) -> None:
    with contextlib.closing(there), contextlib.closing(channel):
        while data := there.recv(1 << 15):
            channel.sendall(data)
        channel.shutdown_write()

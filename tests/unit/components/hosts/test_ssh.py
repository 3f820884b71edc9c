"""A way to a host's loopback through SSH, over a server that forwards."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import paramiko
import pytest

from components.hosts import ssh
from stacks.errors import Refusal, Unreachable
from tests.factories.hosts import KEY
from tests.fakes import sshd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from components.hosts.record import HostRecord

LIMIT = 10.0
WORD = "word"
BIG = bytes(range(256)) * 20_000  # more than any buffer between the two ends


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Listen on the loopback that the way leads to."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(LIMIT)
        yield made


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[sshd.FakeSshd, HostRecord]]:
    """Return an SSH server and the record that leads to it."""
    with sshd.serving(tmp_path) as made:
        yield made
        ssh.close_all()


@pytest.fixture
def way(
    served: tuple[sshd.FakeSshd, HostRecord], listener: socket.socket
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return both ends: ours and that of the server on the host."""
    _, host = served
    with ssh.tunnel(host, listener.getsockname()[1], LIMIT) as ours:
        ours.settimeout(LIMIT)
        listener.accept()[0].close()  # the server only looked whether somebody listens
        there, _ = listener.accept()
        with there:
            there.settimeout(LIMIT)
            yield ours, there


def test_much_goes_both_ways_at_once(way: tuple[socket.socket, socket.socket]) -> None:
    ours, there = way
    writers = [threading.Thread(target=end.sendall, args=(BIG,), daemon=True) for end in way]
    for writer in writers:
        writer.start()
    assert _read(ours, len(BIG)) == BIG
    assert _read(there, len(BIG)) == BIG


def test_the_end_of_one_direction_is_not_that_of_the_other(way: tuple[socket.socket, socket.socket]) -> None:
    ours, there = way
    ours.sendall(b"question")
    ours.shutdown(socket.SHUT_WR)
    assert _read(there, 100) == b"question"
    there.sendall(b"answer")
    there.close()
    assert _read(ours, 100) == b"answer"


def test_a_caller_that_closes_ends_the_connection_there(way: tuple[socket.socket, socket.socket]) -> None:
    ours, there = way
    ours.close()
    assert there.recv(1) == b""


def test_ways_that_were_closed_make_room_for_others(
    served: tuple[sshd.FakeSshd, HostRecord], listener: socket.socket
) -> None:
    _, host = served
    listener.listen(64)
    for _ in range(2 * ssh.MOST_SESSIONS):
        ssh.tunnel(host, listener.getsockname()[1], LIMIT).close()


def test_a_port_that_nobody_listens_on_is_named(served: tuple[sshd.FakeSshd, HostRecord]) -> None:
    _, host = served
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(Unreachable, match=rf"^nothing listens at 127\.0\.0\.1:{port} of host a$"):
        ssh.tunnel(host, port, LIMIT)


def test_a_server_that_forwards_nothing_is_named_with_the_way_out(
    served: tuple[sshd.FakeSshd, HostRecord], listener: socket.socket
) -> None:
    server, host = served
    server.forwards = False
    with pytest.raises(
        Refusal, match=r"^the SSH server of host a forwards no connection.*AllowTcpForwarding"
    ):
        ssh.tunnel(host, listener.getsockname()[1], LIMIT)


def test_a_host_that_is_lost_while_it_runs_a_command_is_not_waited_for(
    served: tuple[sshd.FakeSshd, HostRecord],
) -> None:
    server, host = served
    server.breaks = True
    with pytest.raises(
        Unreachable,
        match=r"^host a \(root@.*\) did not answer over SSH: the connection ended while a command ran",
    ):
        ssh.run(host, "cat", deadline=LIMIT, stdin=WORD)


def test_another_host_key_is_refused(
    served: tuple[sshd.FakeSshd, HostRecord], listener: socket.socket
) -> None:
    _, host = served
    with pytest.raises(Unreachable, match="shows another host key"):
        ssh.tunnel(host.model_copy(update={"host_key": KEY}), listener.getsockname()[1], LIMIT)


def test_a_key_that_is_refused_is_named(
    served: tuple[sshd.FakeSshd, HostRecord], listener: socket.socket
) -> None:
    server, host = served
    server.trusts = False
    with pytest.raises(Unreachable, match=rf"it refuses the key {host.identity_file}; put its public half"):
        ssh.tunnel(host, listener.getsockname()[1], LIMIT)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (
            lambda path: paramiko.ECDSAKey.generate().write_private_key_file(str(path), password=WORD),
            "has a passphrase, and nobody is here to type it; give another one, without a passphrase",
        ),
        (
            lambda path: path.write_text("ssh-ed25519 AAAA"),
            "holds no private key that can be used; give another one",
        ),
        (lambda path: path.unlink(), "does not exist here; restore the file"),
    ],
    ids=["a passphrase", "no private key", "no file"],
)
def test_a_key_that_cannot_be_used_is_named(
    served: tuple[sshd.FakeSshd, HostRecord], write: Callable[[Path], object], said: str
) -> None:
    server, host = served
    write(Path(host.identity_file))
    with pytest.raises(Unreachable, match=rf"the key file {host.identity_file} {said}"):
        ssh.tunnel(host, 1, LIMIT)
    assert server.lines == []


def _read(end: socket.socket, most: int) -> bytes:
    """Read until so many bytes have come, or the end."""
    read = bytearray()
    while len(read) < most and (data := end.recv(1 << 16)):
        read += data
    return bytes(read)

"""Commands on hosts and ways in over SSH, strictly: one key pair, one host key, a deadline for everything."""

import base64
import contextlib
import select
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import paramiko

from components.hosts.inventory import known_name
from components.hosts.record import HostRecord
from stacks.errors import Refusal, Unreachable

CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 15
MOST_OUTPUT = 1 << 20  # bytes per stream; the rest is read and dropped, so that the command can end
MOST_SESSIONS = 8  # sshd allows ten per connection
POLL_SECONDS = 0.005
CHUNK = 1 << 15
LOOPBACK = "127.0.0.1"
PROHIBITED = 1  # RFC 4254, 5.1: SSH_OPEN_ADMINISTRATIVELY_PROHIBITED


@dataclass(frozen=True)
class Answer:
    """What a command on a host answered.

    Attributes:
        code: Its exit status.
        out: Its standard output, at most 1 MiB.
        err: Its standard error, at most 1 MiB.
    """

    code: int
    out: str
    err: str


@dataclass
class _Line:
    """One pooled connection to one host."""

    connecting: threading.Lock = field(default_factory=threading.Lock)
    sessions: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MOST_SESSIONS)
    )
    client: paramiko.SSHClient | None = None


_lines: dict[HostRecord, _Line] = {}
_lines_lock = threading.Lock()


def run(host: HostRecord, command: str, *, deadline: float, stdin: str = "", root: bool = True) -> Answer:
    """Run one shell command on a host and wait for its end.

    Args:
        host: Where to run it; only its `host_key` is accepted and only its `identity_file` is offered.
        command: Text for `sh -c`.
        deadline: Seconds for connecting and running together.
        stdin: What the command reads.
        root: Run it as root, with `sudo -n` where the login user is another.

    Raises:
        Unreachable: The host did not answer within the deadline, or is not the one that is known.
    """
    end = time.monotonic() + deadline
    line = _line(host)
    with _translated(host):
        if not line.sessions.acquire(timeout=deadline):
            raise TimeoutError(f"{MOST_SESSIONS} other commands ran on it for {deadline:g} s")
        try:
            channel = _session(line, host, end)
            with contextlib.closing(channel):
                channel.exec_command(_as_user(host, command, root=root))
                return _exchange(channel, stdin.encode(), end)
        finally:
            line.sessions.release()


def tunnel(host: HostRecord, port: int, deadline: float) -> socket.socket:
    """Return a socket that is connected to a port of a host's own loopback; the caller closes it.

    Args:
        host: Whose loopback it is.
        port: TCP port.
        deadline: Seconds for connecting.

    Raises:
        Unreachable: The host did not answer within the deadline, or nothing listens on the port.
        Refusal: Its SSH server forwards nothing.
    """
    line = _line(host)
    with _translated(host):
        if not line.sessions.acquire(timeout=deadline):
            raise TimeoutError(f"{MOST_SESSIONS} other commands ran on it for {deadline:g} s")
        try:
            far = _forwarded(line, host, port, time.monotonic() + deadline)
        except BaseException:
            line.sessions.release()
            raise
    ours, near = socket.socketpair()
    down = threading.Thread(target=_pump_down, args=(far, near), daemon=True)
    down.start()
    threading.Thread(target=_pump_up, args=(near, far, down, line.sessions), daemon=True).start()
    return ours


def close_all() -> None:
    """End every pooled connection."""
    with _lines_lock:
        lines = list(_lines.values())
        _lines.clear()
    for line in lines:
        with line.connecting:
            _hang_up(line)


def _line(host: HostRecord) -> _Line:
    with _lines_lock:
        return _lines.setdefault(host, _Line())


def _session(line: _Line, host: HostRecord, end: float) -> paramiko.Channel:
    return _opened(line, host, end, lambda transport, timeout: transport.open_session(timeout=timeout))


def _forwarded(line: _Line, host: HostRecord, port: int, end: float) -> paramiko.Channel:
    def forward(transport: paramiko.Transport, timeout: float) -> paramiko.Channel:
        here, there = (LOOPBACK, 0), (LOOPBACK, port)
        return transport.open_channel("direct-tcpip", there, here, timeout=timeout)

    try:
        channel = _opened(line, host, end, forward)
    except paramiko.ChannelException as refused:
        if refused.code == PROHIBITED:
            raise Refusal(
                f"the SSH server of host {host.name} forwards no connection, and only through SSH its port "
                f"{port} can be reached: allow it there (AllowTcpForwarding local)"
            ) from None
        raise Unreachable(f"nothing listens at {LOOPBACK}:{port} of host {host.name}") from None
    channel.settimeout(None)
    return channel


def _opened(
    line: _Line,
    host: HostRecord,
    end: float,
    opener: Callable[[paramiko.Transport, float], paramiko.Channel],
) -> paramiko.Channel:
    """Open a channel on the pooled connection, or on a new one where that has died."""
    with line.connecting:
        if line.client is not None:
            try:
                return _open(line.client, end, opener)
            except paramiko.ChannelException:
                raise  # the host lives and refuses; the other channels on this connection go on
            except (paramiko.SSHException, OSError, EOFError):
                pass
        _hang_up(line)
        line.client = _connect(host, end)
        return _open(line.client, end, opener)


def _connect(host: HostRecord, end: float) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    kind, key = host.host_key.split()[:2]
    known = paramiko.PKey.from_type_string(kind, base64.b64decode(key))
    client.get_host_keys().add(known_name(host), kind, known)
    timeout = max(0.1, min(CONNECT_SECONDS, end - time.monotonic()))
    try:
        client.connect(
            host.address,
            host.port,
            host.user,
            key_filename=host.identity_file,
            timeout=timeout,
            banner_timeout=timeout,
            auth_timeout=timeout,
            allow_agent=False,
            look_for_keys=False,
        )
    except BaseException:
        client.close()
        raise
    _transport(client).set_keepalive(KEEPALIVE_SECONDS)
    return client


def _open(
    client: paramiko.SSHClient,
    end: float,
    opener: Callable[[paramiko.Transport, float], paramiko.Channel],
) -> paramiko.Channel:
    timeout = max(0.1, min(CONNECT_SECONDS, end - time.monotonic()))
    channel = opener(_transport(client), timeout)
    channel.settimeout(timeout)
    return channel


def _transport(client: paramiko.SSHClient) -> paramiko.Transport:
    transport = client.get_transport()
    if transport is None:
        raise EOFError("the connection was closed")
    return transport


def _hang_up(line: _Line) -> None:
    if line.client is not None:
        line.client.close()
        line.client = None


def _as_user(host: HostRecord, command: str, *, root: bool) -> str:
    shell = f"sh -c {shlex.quote(command)}"
    return f"sudo -n {shell}" if root and host.user != "root" else shell


def _exchange(channel: paramiko.Channel, stdin: bytes, end: float) -> Answer:
    """Feed and drain a running command until it ends; neither side can block the other."""
    out, err = bytearray(), bytearray()
    left = stdin
    if not left:
        channel.shutdown_write()
    while not (channel.exit_status_ready() and channel.eof_received):
        if time.monotonic() > end:
            raise TimeoutError("the command did not end within its deadline")
        if left and channel.send_ready():
            left = left[channel.send(left[:CHUNK]) :]
            if not left:
                channel.shutdown_write()
        if not _drain(channel, out, err):
            time.sleep(POLL_SECONDS)
    while _drain(channel, out, err):
        pass
    return Answer(channel.recv_exit_status(), out.decode(errors="replace"), err.decode(errors="replace"))


def _drain(channel: paramiko.Channel, out: bytearray, err: bytearray) -> bool:
    """Take what has arrived; False when that was nothing."""
    taken = b""
    if channel.recv_ready():
        taken = channel.recv(CHUNK)
        out += taken[: max(0, MOST_OUTPUT - len(out))]
    if channel.recv_stderr_ready():
        more = channel.recv_stderr(CHUNK)
        err += more[: max(0, MOST_OUTPUT - len(err))]
        taken += more
    return bool(taken)


def _pump_down(far: paramiko.Channel, near: socket.socket) -> None:
    """Carry what the host sends, and its end."""
    with contextlib.suppress(OSError, EOFError):
        while data := far.recv(CHUNK):
            near.sendall(data)
    with contextlib.suppress(OSError):
        near.shutdown(socket.SHUT_WR)


def _pump_up(
    near: socket.socket,
    far: paramiko.Channel,
    down: threading.Thread,
    sessions: threading.BoundedSemaphore,
) -> None:
    """Carry what the caller sends, and its end; clear both sides away when the caller has closed its own."""
    try:
        with contextlib.suppress(OSError, EOFError):
            while data := near.recv(CHUNK):
                far.sendall(data)
            far.shutdown_write()
            _wait_for_close(near)
    finally:
        far.close()
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)
        down.join()
        near.close()
        sessions.release()


def _wait_for_close(near: socket.socket) -> None:
    """Wait until the peer reads no more; that it writes no more is less, and known already."""
    poll = select.poll()
    poll.register(near, 0)  # POLLHUP is always reported
    poll.poll()


@contextlib.contextmanager
def _translated(host: HostRecord) -> Iterator[None]:
    """Turn every way in which SSH fails into one sentence."""
    try:
        yield
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        reason, way_out = _reason(host, error)
        raise Unreachable(
            f"host {host.name} ({host.user}@{host.address}:{host.port}) did not answer over SSH: "
            f"{reason}; {way_out}"
        ) from error


def _reason(host: HostRecord, error: Exception) -> tuple[str, str]:
    rerun = "see that it runs and is reachable from here, then run the command again"
    if isinstance(error, paramiko.BadHostKeyException):
        return "it shows another host key than the known one", (
            "another machine holds the address: find out which before you trust it"
        )
    if isinstance(error, paramiko.AuthenticationException):
        return f"it refuses the key {host.identity_file}", "put its public half into authorized_keys there"
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"the key file {error.filename} does not exist here", "restore the file"
    return str(error).removeprefix("[Errno None] ").rstrip(".") or type(error).__name__, rerun

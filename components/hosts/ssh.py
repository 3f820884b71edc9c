"""Commands on hosts over SSH, strictly: one key pair, one known host key, a deadline for everything."""

import base64
import contextlib
import shlex
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import paramiko

from components.hosts.inventory import known_name
from components.hosts.record import HostRecord
from stacks.errors import Unreachable

CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 15
MOST_OUTPUT = 1 << 20  # bytes per stream; the rest is read and dropped, so that the command can end
MOST_SESSIONS = 8  # sshd allows ten per connection
POLL_SECONDS = 0.005
CHUNK = 1 << 15


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
    """Open a session on the pooled connection, or on a new one where that has died."""
    with line.connecting:
        if line.client is not None:
            try:
                return _open(line.client, end)
            except paramiko.ChannelException:
                raise  # the host lives and refuses; the other sessions on this connection go on
            except (paramiko.SSHException, OSError, EOFError):
                pass
        _hang_up(line)
        line.client = _connect(host, end)
        return _open(line.client, end)


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


def _open(client: paramiko.SSHClient, end: float) -> paramiko.Channel:
    timeout = max(0.1, min(CONNECT_SECONDS, end - time.monotonic()))
    channel = _transport(client).open_session(timeout=timeout)
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

"""Commands on hosts and ways in over SSH, strictly: one key pair, one host key, a deadline for everything.

A host behind a jump host is reached over a channel of the connection to that one, which all hosts behind it
share.
"""

import base64
import contextlib
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import paramiko

from components.hosts.joined import joined
from components.hosts.openssh import known_name
from components.hosts.record import Hop, HostRecord, JumpHost
from stacks.accounts import place
from stacks.errors import Refusal, Unreachable

CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 15
MOST_OUTPUT = 1 << 20  # bytes per stream; the rest is read and dropped, so that the command can end
MOST_SESSIONS = 8  # sshd allows ten per connection
ALIVE_SECONDS = 2.0
POLL_SECONDS = 0.005
CHUNK = 1 << 15
LOOPBACK = "127.0.0.1"
# No end of the channel's input instead: where that comes after the command's, sshd ends the connection.
_NO_INPUT = " </dev/null"
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


class _UnusableKeyError(ValueError):
    """A private key of this machine cannot be used."""


@dataclass
class _Line:
    """One pooled connection to one host.

    Attributes:
        connecting: Held by who opens or ends the connection.
        sessions: Commands and tunnels that may run over it at the same time.
        client: The connection; None while there is none.
        broken: When an attempt to connect last failed, on the monotonic clock, and how.
    """

    connecting: threading.Lock = field(default_factory=threading.Lock)
    sessions: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MOST_SESSIONS)
    )
    client: paramiko.SSHClient | None = None
    broken: tuple[float, Exception] | None = None


_Opener: TypeAlias = Callable[[paramiko.Transport, float], paramiko.Channel]

_lines: dict[Hop, _Line] = {}
_lines_lock = threading.Lock()


def run(host: HostRecord, command: str, *, deadline: float, stdin: str = "", root: bool = True) -> Answer:
    """Run one shell command on a host and wait for its end.

    Args:
        host: Where to run it; only its `host_key` is accepted and only its `identity_file` is offered, and
            likewise on the way through its jump host.
        command: Text for `sh -c`.
        deadline: Seconds for connecting and running together.
        stdin: What the command reads, to its end.
        root: Run it as root, with `sudo -n` where the login user is another.

    Raises:
        Unreachable: The host did not answer within the deadline, or is not the one that is known; or its
            jump host did not, is not, or does not reach it.
    """
    end = time.monotonic() + deadline
    line = _line(host)
    with _translated(host):
        if not line.sessions.acquire(timeout=deadline):
            raise TimeoutError(f"{MOST_SESSIONS} other commands ran on it for {deadline:g} s")
        try:
            channel = _session(line, host, end)
            with contextlib.closing(channel):
                channel.exec_command(_as_user(host, command, root=root) + ("" if stdin else _NO_INPUT))
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
        Unreachable: The host or its jump host did not answer within the deadline, or nothing listens on the
            port.
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
    return joined(far, line.sessions.release)


def close_all() -> None:
    """End every pooled connection."""
    with _lines_lock:
        lines = list(_lines.values())
        _lines.clear()
    for line in lines:
        with line.connecting:
            _hang_up(line)


def _line(hop: Hop) -> _Line:
    with _lines_lock:
        return _lines.setdefault(hop, _Line())


def _session(line: _Line, host: HostRecord, end: float) -> paramiko.Channel:
    return _opened(line, host, end, lambda transport, timeout: transport.open_session(timeout=timeout))


def _forwarded(line: _Line, host: HostRecord, port: int, end: float) -> paramiko.Channel:
    try:
        return _opened(line, host, end, _to(LOOPBACK, port))
    except paramiko.ChannelException as refused:
        if refused.code == PROHIBITED:
            raise Refusal(
                f"the SSH server of host {host.name} forwards no connection, and only through SSH its port "
                f"{port} can be reached: allow it there (AllowTcpForwarding local)"
            ) from None
        raise Unreachable(f"nothing listens at {LOOPBACK}:{port} of host {host.name}") from None


def _to(address: str, port: int) -> _Opener:
    """Return what opens a connection from a host to an address there."""
    return lambda transport, timeout: transport.open_channel(
        "direct-tcpip", (address, port), (LOOPBACK, 0), timeout=timeout
    )


def _opened(line: _Line, host: HostRecord, end: float, opener: _Opener) -> paramiko.Channel:
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
        # A channel as such cannot be closed once its connection is gone: paramiko's own thread fails at it.
        way = joined(_through(host.jump, host, end), lambda: None) if host.jump else None
        line.client = _connect(host, end, way)
        return _open(line.client, end, opener)


def _through(jump: JumpHost, host: HostRecord, end: float) -> paramiko.Channel:
    """Return a connection to a host that its jump host made.

    A silent host must not cost the others behind the same jump host anything: they do not wait for each
    other here, and the shared connection ends only where nothing answers on it any more.
    """
    line = _line(jump)
    with _translated(host, jump):
        client = _shared(line, jump, end)
        with _unreached(host, jump):
            try:
                return _open(client, end, _to(host.address, host.port))
            except (paramiko.SSHException, OSError, EOFError) as failed:
                if isinstance(failed, paramiko.ChannelException) or _answers(client):
                    raise
        client = _shared(line, jump, end, instead_of=client)
        with _unreached(host, jump):
            return _open(client, end, _to(host.address, host.port))


def _shared(
    line: _Line, jump: JumpHost, end: float, instead_of: paramiko.SSHClient | None = None
) -> paramiko.SSHClient:
    """Return the pooled connection to a jump host, or a new one where it has died.

    Who waited for another one's attempt takes its failure too: many refused ones in a row would look like an
    attack, and some servers then shut everybody of that address out.
    """
    asked = time.monotonic()
    with line.connecting:
        if line.client is not None and line.client is not instead_of and _transport(line.client).is_active():
            return line.client
        if line.broken is not None and line.broken[0] > asked:
            raise line.broken[1]
        _hang_up(line)
        try:
            line.client = _connect(jump, end)
        except Exception as failed:
            line.broken = (time.monotonic(), failed)
            raise
        return line.client


def _answers(client: paramiko.SSHClient) -> bool:
    """Say whether the other side is still there; that it grants no session is an answer."""
    try:
        _transport(client).open_session(timeout=ALIVE_SECONDS).close()
    except paramiko.ChannelException:
        return True
    except (paramiko.SSHException, OSError, EOFError):
        return False
    return True


def _connect(hop: Hop, end: float, way: socket.socket | None = None) -> paramiko.SSHClient:
    own, client = _own_key(hop), paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    kind, key = hop.host_key.split()[:2]
    known = paramiko.PKey.from_type_string(kind, base64.b64decode(key))
    client.get_host_keys().add(known_name(hop), kind, known)
    timeout = max(0.1, min(CONNECT_SECONDS, end - time.monotonic()))
    try:
        client.connect(
            hop.address,
            hop.port,
            hop.user,
            pkey=own,
            timeout=timeout,
            banner_timeout=timeout,
            auth_timeout=timeout,
            allow_agent=False,
            look_for_keys=False,
            sock=way,
        )
    except BaseException:
        _close(client)
        raise
    _transport(client).set_keepalive(KEEPALIVE_SECONDS)
    return client


def _own_key(hop: Hop) -> paramiko.PKey:
    """Read the key.

    Given its file, paramiko would try each type, and what it says of the last would hide a refusal.
    """
    file = hop.identity_file
    try:
        return paramiko.PKey.from_path(file)
    except TypeError:
        raise _UnusableKeyError(
            f"the key file {file} has a passphrase, and nobody is here to type it"
        ) from None
    except (ValueError, paramiko.pkey.UnknownKeyType):
        raise _UnusableKeyError(f"the key file {file} holds no private key that can be used") from None


def _open(client: paramiko.SSHClient, end: float, opener: _Opener) -> paramiko.Channel:
    timeout = max(0.1, min(CONNECT_SECONDS, end - time.monotonic()))
    channel = opener(_transport(client), timeout)
    channel.settimeout(timeout)
    return channel


def _transport(client: paramiko.SSHClient | paramiko.Channel) -> paramiko.Transport:
    transport = client.get_transport()
    if transport is None:
        raise EOFError("the connection was closed")
    return transport


def _hang_up(line: _Line) -> None:
    if line.client is not None:
        _close(line.client)
        line.client = None


def _close(client: paramiko.SSHClient) -> None:
    """End a connection; through a jump host that is gone, its end cannot be told."""
    with contextlib.suppress(paramiko.SSHException, OSError, EOFError):
        client.close()


def _as_user(host: HostRecord, command: str, *, root: bool) -> str:
    shell = f"sh -c {shlex.quote(command)}"
    return f"sudo -n {shell}" if root and host.user != "root" else shell


def _exchange(channel: paramiko.Channel, stdin: bytes, end: float) -> Answer:
    """Feed and drain a running command until it ends; neither side can block the other."""
    out, err, left = bytearray(), bytearray(), stdin
    while not (channel.exit_status_ready() and channel.eof_received):
        if time.monotonic() > end:
            raise TimeoutError("the command did not end within its deadline")
        if not _transport(channel).is_active() and not channel.eof_received:
            raise EOFError("the connection ended while a command ran")
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
def _translated(host: HostRecord, jump: JumpHost | None = None) -> Iterator[None]:
    """Turn every way in which SSH to a host, or to the jump host before it, fails into one sentence."""
    try:
        yield
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        reason, way_out = _reason(jump or host, error)
        who = f"host {host.name}: jump host {place(jump)}" if jump else f"host {host.name} ({_way(host)})"
        raise Unreachable(f"{who} did not answer over SSH: {reason}; {way_out}") from error


@contextlib.contextmanager
def _unreached(host: HostRecord, jump: JumpHost) -> Iterator[None]:
    """Turn every way in which a jump host that answers makes no connection into one sentence."""
    try:
        yield
    except (paramiko.SSHException, OSError, EOFError) as error:
        there = f"{host.address}:{host.port}"
        if isinstance(error, paramiko.ChannelException) and error.code == PROHIBITED:
            said = f"forwards no connection to {there}: allow it there (AllowTcpForwarding local, PermitOpen)"
        else:
            why = error.text if isinstance(error, paramiko.ChannelException) else _words(error)
            said = (
                f"does not reach it at {there} ({why.lower()}): see that it runs and that the jump host has "
                "a way to it, then run the command again"
            )
        raise Unreachable(f"host {host.name}: jump host {place(jump)} {said}") from None


def _way(host: HostRecord) -> str:
    return f"{place(host)} through {place(host.jump)}" if host.jump else place(host)


def _reason(hop: Hop, error: Exception) -> tuple[str, str]:
    rerun = "see that it runs and is reachable from here, then run the command again"
    if isinstance(error, paramiko.BadHostKeyException):
        return "it shows another host key than the known one", (
            "another machine holds the address: find out which before you trust it"
        )
    if isinstance(error, paramiko.AuthenticationException):
        return f"it refuses the key {hop.identity_file}", "put its public half into authorized_keys there"
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"the key file {error.filename} does not exist here", "restore the file"
    if isinstance(error, _UnusableKeyError):
        return str(error), "give another one, without a passphrase"
    return _words(error), rerun


def _words(error: Exception) -> str:
    return str(error).removeprefix("[Errno None] ").rstrip(".") or type(error).__name__

"""A way to a host through another one, over servers that forward."""

from __future__ import annotations

import math
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest
from paramiko import AuthenticationException

from components.hosts import ssh
from stacks.errors import Refusal, Unreachable
from tests.factories.hosts import KEY
from tests.fakes import sshd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from components.hosts.record import Hop, HostRecord, JumpHost

LIMIT = 10.0


class Site(NamedTuple):
    """A jump host, and what is behind it.

    Attributes:
        gate: The jump host's server.
        jump: The record of the jump host.
        server: A host's server.
        host: The host's record.
    """

    gate: sshd.FakeSshd
    jump: JumpHost
    server: sshd.FakeSshd
    host: HostRecord


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Serve a jump host and a host behind it."""
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("gate", "a")]
        for folder in folders:
            folder.mkdir()
        gate, record = stack.enter_context(sshd.serving(folders[0]))
        known = sshd.as_jump(record)
        yield Site(gate, known, *stack.enter_context(sshd.serving(folders[1], jump=known)))
        ssh.close_all()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Listen on the loopback that the way leads to."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as made:
        made.settimeout(LIMIT)
        yield made


def _reaches(record: HostRecord, listener: socket.socket) -> bool:
    with ssh.tunnel(record, listener.getsockname()[1], LIMIT) as ours:
        ours.settimeout(LIMIT)
        listener.accept()[0].close()  # the server only looked whether somebody listens
        there, _ = listener.accept()
        with there:
            there.sendall(b"hello")
        return ours.recv(5) == b"hello"


def test_a_way_leads_through_the_jump_host(site: Site, listener: socket.socket) -> None:
    assert _reaches(site.host, listener)


def test_hosts_behind_one_jump_host_share_a_connection_to_it(site: Site, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    several = [site.host.model_copy(update={"name": name}) for name in "abcdef"]
    with ThreadPoolExecutor(len(several)) as pool:
        for line in pool.map(lambda each: ssh.tunnel(each, port, LIMIT), several):
            line.close()
    assert len(site.gate.lines) == 1


def test_a_connection_to_the_jump_host_that_died_is_made_again(site: Site, listener: socket.socket) -> None:
    assert _reaches(site.host, listener)
    site.gate.lines[0].shutdown(socket.SHUT_RDWR)
    assert _reaches(site.host, listener)
    assert len(site.gate.lines) == 2


def test_another_host_key_of_the_jump_host_is_refused(site: Site) -> None:
    behind = site.host.model_copy(update={"jump": site.jump.model_copy(update={"host_key": KEY})})
    assert _refusal(behind) == (
        f"host a: jump host {_at(site.jump)} did not answer over SSH: it shows another host key "
        "than the known one; another machine holds the address: find out which before you trust it"
    )


def test_another_host_key_of_the_host_behind_is_refused(site: Site) -> None:
    behind = site.host.model_copy(update={"host_key": KEY})
    assert _refusal(behind) == (
        f"host a ({_at(site.host)} through {_at(site.jump)}) did not answer over SSH: it shows another host "
        "key than the known one; another machine holds the address: find out which before you trust it"
    )


def test_a_jump_host_that_refuses_the_key_is_named_with_it(site: Site) -> None:
    site.gate.trusts = False
    assert _refusal(site.host) == (
        f"host a: jump host {_at(site.jump)} did not answer over SSH: it refuses the key "
        f"{site.jump.identity_file}; put its public half into authorized_keys there"
    )


def test_a_host_behind_that_refuses_the_key_is_named_with_its_own(site: Site) -> None:
    site.server.trusts = False
    assert f"it refuses the key {site.host.identity_file}; put" in _refusal(site.host)


def test_a_jump_host_that_forwards_nothing_is_named_with_the_way_out(site: Site) -> None:
    site.gate.forwards = False
    assert _refusal(site.host) == (
        f"host a: jump host {_at(site.jump)} forwards no connection to "
        f"127.0.0.1:{site.host.port}: allow it there (AllowTcpForwarding local, PermitOpen)"
    )


def test_a_host_that_the_jump_host_does_not_reach_leaves_its_neighbours_alone(
    site: Site, listener: socket.socket
) -> None:
    assert _reaches(site.host, listener)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        gone = site.host.model_copy(update={"name": "b", "port": closed.getsockname()[1]})
    assert _refusal(gone) == (
        f"host b: jump host {_at(site.jump)} does not reach it at 127.0.0.1:{gone.port} (connect "
        "failed): see that it runs and that the jump host has a way to it, then run the command again"
    )
    assert _reaches(site.host, listener)
    assert len(site.gate.lines) == 1


def test_a_host_behind_that_forwards_nothing_is_told_from_its_jump_host(
    site: Site, listener: socket.socket
) -> None:
    site.server.forwards = False
    with pytest.raises(Refusal, match=r"^the SSH server of host a forwards no connection"):
        ssh.tunnel(site.host, listener.getsockname()[1], LIMIT)


def test_a_jump_host_that_is_not_there_is_named(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        gate = site.jump.model_copy(update={"port": closed.getsockname()[1]})
    assert _refusal(site.host.model_copy(update={"jump": gate})).startswith(
        f"host a: jump host {_at(gate)} did not answer over SSH: Unable to connect to port"
    )


def test_who_waits_for_an_attempt_takes_its_failure_and_makes_none(site: Site) -> None:
    soon = ssh._Line(broken=(math.inf, AuthenticationException()))  # noqa: SLF001 -- no clock, no race
    ssh._lines[site.jump] = soon  # noqa: SLF001 -- as above
    assert "it refuses the key" in _refusal(site.host)
    assert site.gate.lines == []


def _at(hop: Hop) -> str:
    return f"{hop.user}@127.0.0.1:{hop.port}"


def _refusal(record: HostRecord) -> str:
    with pytest.raises(Unreachable) as refused:
        ssh.tunnel(record, 1, LIMIT)
    return str(refused.value)

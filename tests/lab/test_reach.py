"""The ways to a private port of a real host: the line that a person pastes, and our own."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from components import results
from components.hosts import ssh
from components.machines.lab.host import Host
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import Refusal, Unreachable
from tests.factories.hosts import KEY
from tests.factories.machines import machine
from tests.factories.run import FakeRun
from tests.factories.stacks import planned
from tests.lab.outside import said, status_through

if TYPE_CHECKING:
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = pytest.mark.lab

PRIVATE = planned("lab", {"access.sources": []}).access
PORT = PRIVATE.port
WORDS = b"HTTP/1.0 200 OK"


@pytest.fixture(scope="module")
def host(fleet: str, image: Path) -> HostRecord:
    """Boot a host that serves HTTP on its loopback alone, about 6 s."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    record = Host().create(machine(network, fleet, "a", 2, image), FakeRun()).record
    said(record, f"systemd-run --unit=private python3 -m http.server --bind 127.0.0.1 {PORT}")
    said(record, f"timeout 20 sh -c 'until ss -Hltn | grep -q :{PORT}; do :; done'")
    return record


def test_the_line_opens_the_port_here(host: HostRecord) -> None:
    assert status_through(results.reach(PRIVATE, host.model_dump()), PORT) == "200"


def test_the_line_trusts_no_other_host_key(host: HostRecord) -> None:
    line = results.reach(PRIVATE, host.model_copy(update={"host_key": KEY}).model_dump())
    refused = subprocess.run(shlex.split(line), capture_output=True, text=True, timeout=30, check=False)
    assert refused.returncode == 255
    assert "Host key verification failed" in refused.stderr


def test_our_own_way_leads_there_too(host: HostRecord) -> None:
    with ssh.tunnel(host, PORT, 10) as line:
        line.settimeout(10)
        line.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert line.recv(100).startswith(WORDS)


def test_a_port_that_nobody_listens_on_is_named(host: HostRecord) -> None:
    with pytest.raises(Unreachable, match=r"^nothing listens at 127\.0\.0\.1:1 of host a$"):
        ssh.tunnel(host, 1, 10)


def test_a_server_that_forwards_nothing_is_named_with_the_way_out(host: HostRecord) -> None:
    said(host, "sed -i s/^ssh-/no-port-forwarding\\ ssh-/ /root/.ssh/authorized_keys")
    ssh.close_all()
    with pytest.raises(Refusal, match="forwards no connection, and only through SSH its port 8443"):
        ssh.tunnel(host, PORT, 10)

"""A host that only a jump host reaches: runs, looks, tunnels and the pasted line go through it, strictly."""

from __future__ import annotations

import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from pydantic import SecretStr

from components import results
from components.hosts import playbook, ssh
from components.hosts.playbook import Playbook, PlaybookInputs
from components.hosts.record import JumpHost
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import Incomplete, Refusal, Unreachable
from tests.factories.hosts import KEY
from tests.factories.machines import boot, machine
from tests.factories.run import FakeRun
from tests.factories.stacks import planned
from tests.lab.outside import reached, said, status_through
from tests.lab.test_playbook import PLAYBOOKS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from components.hosts.record import Hop, HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("kept")]

PRIVATE = planned("lab", {"access.sources": []}).access
PORT = PRIVATE.port
SILENT = 2222
"""A port of the others that not even the jump host reaches."""
CLOSED = (
    "table inet wall {{ chain input {{ type filter hook input priority 0; "
    "tcp dport 22 ip saddr != {gate} drop; tcp dport {silent} drop; }}; }}"
)
FORWARDER = "useradd --create-home hop && cp -r /root/.ssh /home/hop && chown -R hop /home/hop/.ssh"


class Site(NamedTuple):
    """One host that is reached, and two that are reached from it alone.

    Attributes:
        gate: The jump host, as a host.
        jump: The jump host, as those behind it know it.
        behind: The others.
    """

    gate: HostRecord
    jump: JumpHost
    behind: list[HostRecord]


@pytest.fixture(scope="module")
def site(fleet: str, image: Path) -> Iterator[Site]:
    """Boot three hosts, about 8 s, and close two of them to all but the first."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    asked = [machine(network, fleet, name, index, image) for index, name in ((2, "gate"), (3, "a"), (4, "b"))]
    gate, *others = [made.record for made in boot(asked)]
    jump = opened(gate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(playbook, "PLAYBOOKS", PLAYBOOKS)
        yield Site(gate, jump, [closed(each, jump) for each in others])


def opened(gate: HostRecord) -> JumpHost:
    """Give a host a user who may go on from there; return it as those behind it know it."""
    said(gate, FORWARDER)
    return JumpHost(
        address=gate.address,
        port=gate.port,
        user="hop",
        identity_file=gate.identity_file,
        host_key=gate.host_key,
    )


def closed(host: HostRecord, jump: JumpHost) -> HostRecord:
    """Close a host to all but its jump host; return it as it is reached now."""
    said(host, f"nft {shlex.quote(CLOSED.format(gate=jump.address, silent=SILENT))}")
    return host.model_copy(update={"jump": jump})


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    ssh.close_all()


def _inputs(hosts: list[HostRecord], fleet: str, **variables: Any) -> PlaybookInputs:
    return PlaybookInputs(
        fleet=fleet,
        playbook="ping",
        hosts=hosts,
        variables={"ping_words": [], "ping_failing": "", "ping_seconds": 0, **variables},
        host_variables={},
        secrets={"ping_secret": SecretStr("hidden")},
        roles={"ping": "1"},
        after=[],
    )


def test_nobody_but_the_jump_host_reaches_them(site: Site) -> None:
    assert [reached(each.address, [22])[22] for each in site.behind] == ["silent", "silent"]


def test_a_run_is_made_looked_at_and_undone_over_two_connections_to_the_jump_host(
    site: Site, fleet: str
) -> None:
    before = _logins(site)
    inputs = _inputs(site.behind, fleet)
    made = Playbook().create(inputs, FakeRun())
    assert _logins(site) == before + 2  # Rackstack's own and Ansible's, for two hosts and as many more
    assert Playbook().read(inputs, made, FakeRun()).drift == {}
    Playbook().delete(inputs, made, FakeRun())
    assert ssh.run(site.behind[0], f"ls /var/lib/rackstack | grep -c {fleet}", deadline=10).out == "0\n"


def test_the_line_and_our_own_way_lead_to_a_private_port(site: Site) -> None:
    host = site.behind[0]
    serve = f"systemd-run --unit=private python3 -m http.server --bind 127.0.0.1 {PORT}"
    assert ssh.run(host, serve, deadline=10).code == 0
    assert (
        ssh.run(host, f"timeout 20 sh -c 'until ss -Hltn | grep -q :{PORT}; do :; done'", deadline=25).code
        == 0
    )
    assert status_through(results.reach(PRIVATE, host.model_dump()), PORT) == "200"
    with ssh.tunnel(host, PORT, 10) as line:
        line.settimeout(10)
        line.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.0 200 OK")


def test_a_run_with_another_key_of_the_jump_host_begins_nothing(site: Site, fleet: str) -> None:
    stranger = site.jump.model_copy(update={"host_key": KEY})
    with pytest.raises(Refusal) as refused:
        Playbook().create(_inputs(_behind(site, stranger), fleet), FakeRun())
    assert str(refused.value) == (
        f"hosts a, b: jump host {_at(site.jump)} did not answer over SSH: it shows another host key "
        "than the known one; another machine holds the address: find out which before you trust it"
    )


@pytest.mark.parametrize("wrong", ["host", "jump"])
def test_the_line_trusts_no_other_key_on_either_hop(site: Site, wrong: str) -> None:
    host = site.behind[0]
    changed: dict[str, dict[str, Any]] = {
        "host": {"host_key": KEY},
        "jump": {"jump": site.jump.model_copy(update={"host_key": KEY})},
    }
    line = results.reach(PRIVATE, host.model_copy(update=changed[wrong]).model_dump())
    refused = subprocess.run(shlex.split(line), capture_output=True, text=True, timeout=30, check=False)
    assert refused.returncode == 255
    assert "Host key verification failed" in refused.stderr


def test_a_silent_host_is_told_from_its_jump_host_and_costs_its_neighbour_nothing(site: Site) -> None:
    there, gone = site.behind
    silent = gone.model_copy(update={"port": SILENT})
    before = _logins(site)
    with ThreadPoolExecutor() as pool:
        refused = pool.submit(_refusal, silent)
        assert ssh.run(there, "true", deadline=10).code == 0
        assert not refused.done()
    assert refused.result() == (
        f"host b: jump host {_at(site.jump)} does not reach it at {gone.address}:{SILENT} (timeout "
        "opening channel): see that it runs and that the jump host has a way to it, then run the command "
        "again"
    )
    assert ssh.run(there, "true", deadline=10).code == 0
    assert _logins(site) == before + 1


def test_a_host_that_is_lost_once_a_run_has_begun_is_named(
    site: Site, fleet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playbook, "_require_ready", lambda *_: None)
    lost = site.behind[1].model_copy(update={"port": 9})
    with pytest.raises(Incomplete) as failed:
        Playbook().create(_inputs([site.behind[0], lost], fleet), FakeRun())
    assert failed.value.reasons[0] == (
        "b: did not answer Ansible over SSH: its jump host does not reach it; see that it runs and is "
        "reachable from here, then run the command again"
    )


def test_a_jump_host_that_forwards_nothing_is_named_with_the_way_out(site: Site) -> None:
    file = "/home/hop/.ssh/authorized_keys"
    said(site.gate, f"cp {file} {file}.kept && sed -i s/^ssh-/no-port-forwarding\\ ssh-/ {file}")
    try:
        assert _refusal(site.behind[0]) == (
            f"host a: jump host {_at(site.jump)} forwards no connection to "
            f"{site.behind[0].address}:22: allow it there (AllowTcpForwarding local, PermitOpen)"
        )
    finally:
        said(site.gate, f"mv {file}.kept {file}")


def _at(hop: Hop) -> str:
    return f"{hop.user}@{hop.address}:{hop.port}"


def _behind(site: Site, jump: JumpHost) -> list[HostRecord]:
    return [each.model_copy(update={"jump": jump}) for each in site.behind]


def _refusal(host: HostRecord) -> str:
    with pytest.raises(Unreachable) as refused:
        ssh.run(host, "true", deadline=5)
    return str(refused.value)


def _logins(site: Site) -> int:
    """Return how often somebody has logged in for forwarding."""
    return int(said(site.gate, "journalctl -t sshd -o cat | grep -c 'Accepted publickey for hop' || true"))

"""The firewall on real hosts: who gets in and who does not, that nobody is locked out, that it goes again."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from components.hosts import playbook, runs
from components.hosts import ssh as pooled
from components.hosts.playbook import Playbook, PlaybookInputs
from components.machines.lab.network import Network, NetworkInputs, NetworkOutputs
from stacks.errors import Incomplete
from tests.factories.machines import boot, machine
from tests.factories.playbooks import GATEWAY_PORT as GATEWAY
from tests.factories.playbooks import firewall, guards
from tests.factories.run import FakeRun
from tests.lab.outside import PROBE, reached, said, ssh, stranger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from components.hosts.record import HostRecord

pytestmark = pytest.mark.lab

SSH = 22
RANK_PORTS = (8000, 29501, 45454)
EVERY = (SSH, *RANK_PORTS, GATEWAY)
DATA = Path(__file__).parent / "data" / "playbooks"
ROLE = playbook.PLAYBOOKS / "roles" / "firewall"
UNIT = "rackstack-firewall.service"
# Only a value that no stack can give gets past the refusals that come first.
SPOILT = {"firewall_ssh_port": "2222", "firewall_way_back_seconds": "4"}
DIGEST = "nft -s list table inet rackstack | sha256sum"
OTHER = """
table ip theirs {
    set known { type ipv4_addr; elements = { 192.0.2.1, 192.0.2.2 }; }
    counter seen { packets 7 bytes 420 }
    chain input {
        type filter hook input priority 10; policy accept;
        tcp dport 9 counter packets 3 bytes 180 drop
    }
}
"""
LISTEN = """
import selectors, socket, sys
ready = selectors.DefaultSelector()
for port in sys.argv[1:]:
    door = socket.create_server(("::", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
    ready.register(door, selectors.EVENT_READ)
while True:
    for key, _ in ready.select():
        key.fileobj.accept()[0].close()
"""


@pytest.fixture(scope="module")
def network(fleet: str) -> NetworkOutputs:
    return Network().create(NetworkInputs(fleet=fleet), FakeRun())


@pytest.fixture(scope="module")
def pair(network: NetworkOutputs, fleet: str, image: Path) -> list[HostRecord]:
    """Boot two hosts on which everything listens that a firewall is about; about 6 s."""
    asked = [machine(network, fleet, name, index, image) for index, name in ((2, "a"), (3, "b"))]
    hosts = [made.record for made in boot(asked)]
    for number, host in enumerate(hosts):
        said(host, f"ip address add fd00::{10 + number}/64 dev eth0 nodad")
        ports = " ".join(map(str, (*RANK_PORTS, GATEWAY)))
        said(host, f"systemd-run --quiet --unit=listen python3 -c {shlex.quote(LISTEN)} {ports}")
        said(host, f"nft -f - <<'E'\n{OTHER}\nE")
    return hosts


@pytest.fixture(scope="module")
def outsider(network: NetworkOutputs, pair: list[HostRecord]) -> Iterator[str]:
    del pair
    with stranger(network) as namespace:
        yield namespace


@pytest.fixture(scope="module", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use the tests' own playbook with the project's roles, and folders of their own for what runs leave."""
    folder = tmp_path_factory.mktemp("wall")
    for name in ("wall.yml", "wall.undo.yml"):
        shutil.copy(DATA / name, folder)
    (folder / "roles").symlink_to(playbook.PLAYBOOKS / "roles")
    with (
        tempfile.TemporaryDirectory(prefix="t-", dir="/dev/shm") as memory,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(playbook, "PLAYBOOKS", folder)
        patch.setattr(runs, "KEPT", folder / "kept")
        patch.setattr(runs, "MEMORY_FOLDERS", (memory,))
        yield
        pooled.close_all()


def _inputs(
    hosts: list[HostRecord], fleet: str, secrets: dict[str, str] | None = None, **variables: Any
) -> PlaybookInputs:
    members = {"firewall_members": [*(host.address for host in hosts), "fd00::10", "fd00::11"]}
    return PlaybookInputs(
        fleet=fleet,
        playbook="wall",
        hosts=hosts,
        variables=firewall(hosts) | members | variables,
        host_variables=guards(hosts),
        secrets={name: SecretStr(value) for name, value in (secrets or {}).items()},
        roles={},
        after=[],
    )


def _closed(inputs: PlaybookInputs) -> str:
    """Run the playbook and return what its summary says of the firewall."""
    run = FakeRun()
    Playbook().create(inputs, run)
    return next(line for line in run.said if line.startswith("firewall: done"))


def test_rules_that_lock_out_are_taken_back_to_none(
    pair: list[HostRecord], fleet: str, outsider: str
) -> None:
    assert set(reached(pair[0].address, EVERY, outsider).values()) == {"open"}
    with pytest.raises(Incomplete) as failed:
        _closed(_inputs(pair, fleet, SPOILT))
    assert "no new SSH connection from" in failed.value.reasons[0]
    assert "come back within 4 s" in failed.value.reasons[0]
    assert _rules(pair[0]) == ""
    assert ssh(pair[0], f"systemctl is-enabled {UNIT}").stdout != "enabled\n"


def test_members_get_in_and_strangers_do_not(pair: list[HostRecord], fleet: str, outsider: str) -> None:
    head, worker = pair
    _closed(_inputs(pair, fleet))
    for address in (head.address, worker.address, "fd00::10", "fd00::11"):
        assert set(reached(address, EVERY, outsider).values()) == {"silent"}, address
    for address in (worker.address, "fd00::11"):
        assert _from(head, address, EVERY) == ["open"] * len(EVERY)
    assert reached(head.address, EVERY) == {port: "open" if port == SSH else "silent" for port in EVERY}


def test_on_loopback_only_root_and_the_gateway_reach_the_engine(pair: list[HostRecord]) -> None:
    head, worker = pair
    for host, user, met in (
        (head, "root", "open"),
        (head, "rackstack-gateway", "open"),
        (head, "nobody", "refused"),
        (worker, "nobody", "open"),
    ):
        for address in ("127.0.0.1", "::1"):
            assert _from(host, address, [8000], user) == [met], (host.name, user, address)
    assert _from(head, "127.0.0.1", [GATEWAY], "nobody") == ["open"]


def test_the_same_again_changes_nothing(pair: list[HostRecord], fleet: str) -> None:
    state = f"systemctl show {UNIT} -p InvocationID; {DIGEST}"
    before = said(pair[0], state)
    assert _closed(_inputs(pair, fleet)).endswith(" 0 changed")
    assert said(pair[0], state) == before


def test_it_is_there_again_after_a_restart(pair: list[HostRecord], outsider: str) -> None:
    good = said(pair[0], DIGEST)
    said(pair[0], f"systemctl stop {UNIT}")
    assert set(reached(pair[0].address, EVERY, outsider).values()) == {"open"}
    said(pair[0], f"systemctl restart {UNIT}")
    assert said(pair[0], DIGEST) == good
    assert set(reached(pair[0].address, EVERY, outsider).values()) == {"silent"}


@pytest.mark.parametrize(
    ("meddle", "sentence"),
    [
        ("nft delete table inet rackstack", "the table inet rackstack is missing"),
        ("nft add rule inet rackstack input accept", "the table inet rackstack is not the wanted one"),
        (
            "nft add element inet rackstack members4 { 192.0.2.1 }",
            "the table inet rackstack is not the wanted one",
        ),
        ("echo '#' >>/etc/rackstack/firewall.nft", "/etc/rackstack/firewall.nft is not the wanted one"),
        (f"systemctl disable {UNIT}", f"{UNIT} is not enabled"),
        (
            "systemd-run --unit=rackstack-firewall-back --on-active=600 true",
            "still waits to take the rules back",
        ),
    ],
)
def test_what_somebody_changed_is_seen(pair: list[HostRecord], meddle: str, sentence: str) -> None:
    wanted = said(pair[0], "cp -n /etc/rackstack/firewall.nft /run/good; cat /run/good") + "\n"
    assert _stale(pair[0], wanted) == ""
    said(pair[0], meddle)
    assert sentence in _stale(pair[0], wanted)
    mend = f"cp /run/good /etc/rackstack/firewall.nft; systemctl enable {UNIT}; systemctl reload {UNIT}"
    said(pair[0], f"systemctl stop rackstack-firewall-back.timer; {mend}")


def test_what_somebody_changed_is_put_back(pair: list[HostRecord], fleet: str) -> None:
    good = said(pair[0], DIGEST)
    said(pair[0], f"systemctl disable --now {UNIT}; rm /etc/rackstack/firewall.nft")
    assert not _closed(_inputs(pair, fleet)).endswith(" 0 changed")
    assert said(pair[0], DIGEST) == good
    assert said(pair[0], f"systemctl is-enabled {UNIT}; systemctl is-active {UNIT}").split() == [
        "enabled",
        "active",
    ]


def test_a_way_back_that_a_killed_run_left_is_taken_first(pair: list[HostRecord], fleet: str) -> None:
    """Rules that nobody proved are not what a later run comes back to."""
    good = _rules(pair[0])
    back = "/run/rackstack-firewall-back.nft rackstack-firewall-back 600"
    arguments = f"/usr/sbin/nft 'inet rackstack' /dev/stdin {back}"
    script = (ROLE / "files/apply.sh").read_text()
    said(pair[0], f"cat >/run/apply.sh <<'E'\n{script}\nE")
    said(pair[0], f"echo 'add rule inet rackstack input accept' | sh /run/apply.sh {arguments}")
    assert _rules(pair[0]) != good
    _closed(_inputs(pair, fleet))
    assert _rules(pair[0]) == good
    assert ssh(pair[0], "systemctl is-active rackstack-firewall-back.timer").stdout == "inactive\n"


def test_rules_that_lock_out_are_taken_back_to_those_before(pair: list[HostRecord], fleet: str) -> None:
    good, kept = _rules(pair[0]), said(pair[0], "cat /etc/rackstack/firewall.nft")
    with pytest.raises(Incomplete, match="no new SSH connection from"):
        _closed(_inputs(pair, fleet, SPOILT))
    assert _rules(pair[0]) == good
    assert said(pair[0], "cat /etc/rackstack/firewall.nft") == kept


def test_where_one_host_goes_back_the_others_do_too(pair: list[HostRecord], fleet: str) -> None:
    """Its timer fires before the proof; the other one's has been stopped by then."""
    good = [_rules(host) for host in pair]
    inputs = _inputs(pair, fleet, firewall_operators=["operator", "192.0.2.0/24"])
    spoilt = inputs.host_variables["b"] | {"firewall_way_back_seconds": 0}
    with pytest.raises(Incomplete) as failed:
        _closed(inputs.model_copy(update={"host_variables": inputs.host_variables | {"b": spoilt}}))
    told = " ".join(failed.value.reasons)
    assert "a: another host could not prove its new rules" in told
    assert "b: under the new rules no new SSH connection from" in told
    assert [_rules(host) for host in pair] == good
    for host in pair:
        assert ssh(host, "systemctl is-active rackstack-firewall-back.timer").stdout == "inactive\n"
    assert "192.0.2.0" not in said(pair[0], "cat /etc/rackstack/firewall.nft")


def test_operators_without_this_machine_are_refused_before_anything_is_changed(
    pair: list[HostRecord], fleet: str, network: NetworkOutputs
) -> None:
    good = said(pair[0], DIGEST)
    with pytest.raises(Incomplete) as failed:
        _closed(_inputs(pair, fleet, firewall_operators=["192.0.2.0/24", "2001:db8::/32"]))
    sentence = failed.value.reasons[0]
    assert f"reaches it from {network.gateway}, which is not in access.operators" in sentence
    assert "(192.0.2.0/24, 2001:db8::/32)" in sentence
    assert said(pair[0], DIGEST) == good


def test_a_host_without_nftables_is_named(pair: list[HostRecord], fleet: str) -> None:
    said(pair[1], "mv /usr/sbin/nft /usr/sbin/nft.away")
    try:
        with pytest.raises(
            Incomplete, match=r"b: command /usr/sbin/nft is missing.*install the package nftables"
        ):
            _closed(_inputs(pair, fleet))
    finally:
        said(pair[1], "mv /usr/sbin/nft.away /usr/sbin/nft")


def test_sources_reach_the_gateway_and_nothing_else(
    pair: list[HostRecord], fleet: str, network: NetworkOutputs, outsider: str
) -> None:
    """Networks that overlap, of both families."""
    head, worker = pair
    sources = [network.subnet, f"{network.subnet.removesuffix('0/24')}5", "fd00::/64", "fd00::5"]
    _closed(_inputs(pair, fleet, firewall_sources=sources))
    for address in (head.address, "fd00::10"):
        met = reached(address, EVERY, outsider)
        assert met == {port: "open" if port == GATEWAY else "silent" for port in EVERY}
    assert set(reached(worker.address, EVERY, outsider).values()) == {"silent"}


def test_tables_of_others_stay_as_they_are_and_ours_goes(
    pair: list[HostRecord], fleet: str, outsider: str
) -> None:
    theirs = said(pair[0], "nft -a list table ip theirs")
    assert "packets 7 bytes 420" in theirs
    inputs = _inputs(pair, fleet)
    made = Playbook().create(inputs, FakeRun())
    assert said(pair[0], "nft -a list table ip theirs") == theirs
    for _ in range(2):  # what is gone already is no error
        Playbook().delete(inputs, made, FakeRun())
    assert said(pair[0], "nft -a list ruleset") == theirs
    assert said(pair[0], "find /etc /run -name '*rackstack-firewall*'; ls /etc/rackstack") == ""
    assert set(reached(pair[0].address, EVERY, outsider).values()) == {"open"}


def _from(host: HostRecord, address: str, ports: Sequence[int], user: str = "root") -> list[str]:
    """Return what connections from a host meet."""
    program = shlex.join(["python3", "-c", PROBE, address, *map(str, ports)])
    return said(host, f"runuser -u {user} -- {program}").split()


def _rules(host: HostRecord) -> str:
    """Return the rules that are in force; empty where there are none."""
    return ssh(host, "nft -s list table inet rackstack").stdout


def _stale(host: HostRecord, rules: str) -> str:
    """Return why the role would put the rules in force again."""
    wanted = {
        "nft": "/usr/sbin/nft",
        "rules": rules,
        "file": "/etc/rackstack/firewall.nft",
        "unit": UNIT,
        "way_back": "rackstack-firewall-back",
    }
    program = (ROLE / "files/look.py").read_text()
    shown = said(host, shlex.join(["python3", "-c", program, json.dumps(wanted)]))
    return str(json.loads(shown)["stale"])

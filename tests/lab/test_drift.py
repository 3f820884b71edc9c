"""What somebody else does to a host is named by the next look, host and role with it, and mended by `up`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from components.hosts.playbook import Playbook, PlaybookInputs, PlaybookOutputs
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import Incomplete
from tests.factories import playbooks
from tests.factories.machines import boot, machine
from tests.factories.playbooks import ENGINE_PORT as PORT
from tests.factories.playbooks import GATEWAY_PORT
from tests.factories.run import FakeRun
from tests.lab.outside import said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("kept")]

HOME = "/var/lib/rackstack/checkpoints/some/1"
FILES = {"config.json": b"{}", "weights": bytes(range(256)) * 16}
ENGINE = "/opt/rackstack/engines/stand-in"
RANK = ["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", str(PORT)]
DOOR = ["/usr/bin/python3", "-m", "http.server", str(GATEWAY_PORT)]
RULES = "nft --stateless list table inet rackstack"
UNIT = "rackstack-rank.service"
INVOCATION = f"systemctl show {UNIT} --value -p InvocationID"
PROBE = """rm -rf /root/p && mkdir -p /root/p/DEBIAN && cat >/root/p/DEBIAN/control <<END
Package: rackstack-probe
Version: {version}
Architecture: all
Maintainer: a <a@b>
Description: p
END
dpkg-deb --build /root/p /root/p.deb && dpkg --install /root/p.deb"""


class State:
    """One playbook on the hosts, as the engine would carry it along."""

    def __init__(self, inputs: PlaybookInputs) -> None:
        """Bring it about."""
        self.inputs = inputs
        self.outputs: PlaybookOutputs = Playbook().create(inputs, FakeRun())

    def drift(self) -> Mapping[str, Mapping[str, str]]:
        """Look."""
        return Playbook().read(self.inputs, self.outputs, FakeRun()).drift

    def up(self) -> None:
        """Mend."""
        self.outputs = Playbook().update(self.inputs, self.inputs, self.outputs, FakeRun())

    def down(self) -> None:
        """Undo."""
        Playbook().delete(self.inputs, self.outputs, FakeRun())


@pytest.fixture(scope="module")
def pair(fleet: str, image: Path) -> list[HostRecord]:
    """Boot two hosts, about 6 s."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    asked = [machine(network, fleet, name, index, image) for index, name in ((2, "a"), (3, "b"))]
    return [made.record for made in boot(asked)]


@pytest.fixture(scope="module")
def prepared(pair: list[HostRecord], fleet: str) -> State:
    """Run the real `prepare`."""
    for host in pair:
        said(host, PROBE.format(version="1.0"))
    wanted = {"prepare_packages": ["rackstack-probe"], "prepare_memory_mib": 128}
    return State(playbooks.inputs(pair, fleet, "prepare", wanted))


@pytest.fixture(scope="module")
def served(prepared: State, pair: list[HostRecord], fleet: str) -> State:
    """Serve with the real role what stands in for an engine: a process that listens where one would."""
    del prepared
    for host in pair:
        said(
            host,
            f"mkdir -p {ENGINE} {HOME}; touch -d yesterday {ENGINE}/.rackstack-complete {HOME}/.verified",
        )
    wanted = {"serve_engine_home": ENGINE, "serve_checkpoint_home": HOME}
    inputs = playbooks.inputs(pair, fleet, "serve", wanted)
    own = {
        host.name: {"serve_rank": rank, "serve_argv": RANK, "serve_env": {}, "serve_ports": [PORT]}
        for rank, host in enumerate(pair)
    }
    secrets = {"serve_api_key": SecretStr("a-key-of-this-test")}
    return State(inputs.model_copy(update={"host_variables": own, "secrets": secrets}))


def test_what_prepare_left_is_seen_and_mended(prepared: State, pair: list[HostRecord]) -> None:
    assert prepared.drift() == {}
    spoilt = {
        "echo a.b = c >/etc/sysctl.d/60-rackstack.conf": "/etc/sysctl.d/60-rackstack.conf was edited",
        "chmod 755 /etc/rackstack": "/etc/rackstack has mode 0755, not 0700",
        "userdel rackstack": "/var/cache/rackstack belongs to ",
        "rmdir /opt/rackstack/engines": "/opt/rackstack/engines is gone",
        PROBE.format(version="1.1"): "package rackstack-probe is 1.1, it was 1.0 at the last run",
    }
    for command, sentence in spoilt.items():
        said(pair[1], command)
        assert sentence in prepared.drift()["b"]["prepare"]
    assert set(prepared.drift()) == {"b"}
    prepared.up()
    assert prepared.drift() == {}
    assert said(pair[1], "stat -c %a:%U /etc/rackstack /var/cache/rackstack").split() == [
        "700:root",
        "750:rackstack",
    ]


def test_a_package_that_went_is_named_and_refused_while_no_source_has_it(
    prepared: State, pair: list[HostRecord]
) -> None:
    said(pair[1], "dpkg --purge rackstack-probe")
    assert prepared.drift() == {"b": {"prepare": "package rackstack-probe is gone, it was 1.1"}}
    with pytest.raises(
        Incomplete, match="b: package rackstack-probe is missing and no package source has it"
    ):
        prepared.up()
    said(pair[1], PROBE.format(version="1.1"))
    prepared.up()
    assert prepared.drift() == {}


@pytest.mark.usefixtures("prepared")
def test_a_checkpoint_that_was_touched_is_seen_and_mended(pair: list[HostRecord], fleet: str) -> None:
    for host in pair:
        said(
            host,
            "mkdir -p /srv/m; cd /srv/m; printf '{}' >config.json; "
            'python3 -c \'open("weights", "wb").write(bytes(range(256)) * 16)\'; '
            "systemd-run --unit=mirror --working-directory=/srv/m "
            "python3 -m http.server --bind 127.0.0.1 9999",
        )
    files = [
        {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for path, content in FILES.items()
    ]
    wanted = {
        "checkpoint_home": HOME,
        "checkpoint_url": "http://127.0.0.1:9999/",
        "checkpoint_files": files,
    }
    checkpoint = State(playbooks.inputs(pair, fleet, "checkpoint", wanted))
    assert checkpoint.drift() == {}
    spoilt = {
        f"head -c 4096 /dev/zero >{HOME}/weights": f"{HOME}/weights was written to since it was verified",
        f"cd {HOME} && printf '[]' >other && mv other config.json": (
            f"{HOME}/config.json was replaced since it was verified"
        ),
        f"rm {HOME}/config.json": f"{HOME}/config.json is missing",
    }
    for command, sentence in spoilt.items():
        said(pair[0], command)
        assert sentence in checkpoint.drift()["a"]["checkpoint"]
    checkpoint.up()
    assert checkpoint.drift() == {}
    for path, content in FILES.items():
        assert said(pair[0], f"sha256sum <{HOME}/{path}").split()[0] == hashlib.sha256(content).hexdigest()

    said(pair[1], f"rm -r {HOME} /var/lib/rackstack/{fleet}/checkpoint.manifest")
    checkpoint.down()
    assert said(pair[0], f"ls {HOME} 2>/dev/null || true") == ""


@pytest.mark.parametrize(
    "spoilt",
    [
        {"systemctl kill --signal=STOP {unit}": "{unit} has stopped processes, which do nothing: "},
        {
            "systemctl stop {unit}": "{unit} is inactive (dead)",
            "systemctl start {unit}": "{unit} was started again since the last run, by something else",
        },
        {
            "echo '# mine' >>/etc/systemd/system/{unit}": "/etc/systemd/system/{unit} was edited",
            "rm /etc/rackstack/rank.env": "/etc/rackstack/rank.env is gone",
        },
    ],
    ids=["frozen", "restarted", "files"],
)
def test_a_rank_that_somebody_meddled_with_brings_the_whole_group_back(
    served: State, pair: list[HostRecord], spoilt: dict[str, str]
) -> None:
    before = [said(host, INVOCATION) for host in pair]
    for command, sentence in spoilt.items():
        said(pair[1], command.format(unit=UNIT))
        [(host, roles)] = served.drift().items()
        assert host == "b"
        assert sentence.format(unit=UNIT) in roles["serve"]
    served.up()
    assert served.drift() == {}
    after = [said(host, INVOCATION) for host in pair]
    assert set(before).isdisjoint(after)


def test_a_file_that_others_may_read_is_closed_without_a_new_start(
    served: State, pair: list[HostRecord]
) -> None:
    before = [said(host, INVOCATION) for host in pair]
    said(pair[0], "chmod 644 /etc/rackstack/rank.env")
    assert served.drift() == {"a": {"serve": "/etc/rackstack/rank.env has mode 0644, not 0600"}}
    served.up()
    assert served.drift() == {}
    assert before == [said(host, INVOCATION) for host in pair]


def test_a_stranger_on_the_port_is_named_by_the_look_and_refused_by_up_in_the_same_words(
    served: State, pair: list[HostRecord]
) -> None:
    said(pair[1], f"systemctl stop {UNIT}; systemd-run --unit=squatter {' '.join(RANK)}")
    said(pair[1], f"until ss -Hltn | grep -q :{PORT}; do sleep 0.1; done")
    found = served.drift()["b"]["serve"]
    taken = f"port {PORT} is taken by '{' '.join(RANK)}' (process "
    assert taken in found
    assert "of squatter.service)" in found
    with pytest.raises(Incomplete) as refused:
        served.up()
    assert f"b: {taken}" in refused.value.reasons[0]
    said(pair[1], "systemctl stop squatter")
    served.up()
    assert served.drift() == {}


@pytest.mark.usefixtures("prepared")
@pytest.mark.long
def test_a_door_that_somebody_opened_is_closed_again(pair: list[HostRecord], fleet: str) -> None:
    access = State(playbooks.access(pair, fleet, {"default": "rk-of-this-test-012345"}))
    assert access.drift() == {}
    rules = said(pair[0], RULES)
    spoilt = {
        "nft delete table inet rackstack": (
            "firewall",
            "inet rackstack` prints is not what the last run left",
        ),
        "systemctl stop rackstack-firewall": ("firewall", "rackstack-firewall.service` prints is not what"),
        "sed -i '/default/d' /etc/rackstack/gateway/keys.conf": (
            "gateway",
            "keys.conf was edited: its SHA-256",
        ),
        "systemctl disable rackstack-gateway": (
            "gateway",
            "rackstack-gateway.service is disabled at boot, not enabled",
        ),
        "systemctl restart rackstack-gateway": ("gateway", "rackstack-gateway.service was started again"),
        "systemctl stop rackstack-gateway": ("gateway", "rackstack-gateway.service is inactive (dead)"),
    }
    for command, (role, sentence) in spoilt.items():
        said(pair[0], command)
        assert sentence in access.drift()["a"][role]
    assert set(access.drift()) == {"a"}
    access.up()
    assert access.drift() == {}
    assert said(pair[0], RULES) == rules
    assert "default" in said(pair[0], "cat /etc/rackstack/gateway/keys.conf")

    said(pair[0], f"systemctl stop rackstack-gateway; systemd-run --unit=squatter {' '.join(DOOR)}")
    said(pair[0], f"until ss -Hltn | grep -q :{GATEWAY_PORT}; do sleep 0.1; done")
    taken = f"port {GATEWAY_PORT} is taken by '{' '.join(DOOR)}' (process "
    assert taken in access.drift()["a"]["gateway"]
    with pytest.raises(Incomplete, match=f"port {GATEWAY_PORT}"):
        access.up()
    said(pair[0], "systemctl stop squatter")

    said(
        pair[0],
        "rm -r /etc/rackstack/gateway /etc/rackstack/firewall.nft /etc/systemd/system/rackstack-*; "
        "systemctl daemon-reload; nft delete table inet rackstack; userdel rackstack-gateway",
    )
    access.down()
    for host in pair:
        assert said(host, "ls /etc/rackstack; nft list tables; getent passwd rackstack-gateway || true") == ""


@pytest.mark.long
def test_ways_back_work_where_somebody_took_things_away_by_hand(
    served: State, prepared: State, pair: list[HostRecord]
) -> None:
    said(
        pair[1],
        f"systemctl stop {UNIT}; rm /etc/systemd/system/{UNIT} /etc/rackstack/rank.env; "
        "systemctl daemon-reload; userdel rackstack; "
        "rm -r /var/cache/rackstack /opt/rackstack /etc/rackstack",
    )
    served.down()
    said(pair[1], "rm -r /var/lib/rackstack")
    prepared.down()
    for host in pair:
        assert said(host, "ls -d /opt/rackstack /var/*/rackstack /etc/rackstack 2>/dev/null || true") == ""

"""The real playbook `access` on one host: who is let through, to what, and that a change drops nobody."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import http.client
import json
import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from components.gateway import certificates
from components.hosts.playbook import Playbook, PlaybookInputs, PlaybookOutputs
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import Incomplete
from tests.factories import playbooks
from tests.factories.machines import boot, machine
from tests.factories.playbooks import ENGINE_KEY
from tests.factories.playbooks import GATEWAY_PORT as PORT
from tests.factories.run import FakeRun
from tests.fakes import upstream
from tests.lab.outside import reached, said
from tests.lab.outside import ssh as try_ssh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("kept")]

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases/gateway/requests.yaml").read_text())
OLD = {"default": "rk-Default.key+0123456789", "evaluation": "rk-evaluation/key=~0123456789"}
NEW = {"default": OLD["default"], "evaluation": "rk-the-next-evaluation-key"}
UNIT = "rackstack-gateway.service"
# The image has no client of its own.
FETCH = """
import ssl, sys, urllib.error, urllib.request
ask = urllib.request.Request(sys.argv[1], headers={"Authorization": "Bearer " + (sys.argv[2:] or ["-"])[0]})
try:
    answer = urllib.request.urlopen(ask, timeout=30, context=ssl._create_unverified_context())
except urllib.error.HTTPError as refused:
    print(refused.code, refused.headers["X-Rackstack-Gateway"])
else:
    print(answer.read().decode())
"""
LEFT = (
    "ls -d /etc/systemd/system/rackstack* /etc/systemd/system/*/rackstack* /etc/rackstack/* /run/rackstack* "
    "2>/dev/null; getent passwd rackstack-gateway; getent group rackstack-gateway; "
    "systemctl list-units --all --no-legend 'rackstack-*'; ss -Hltn 'sport = :8443'; nft list tables; true"
)
GATEWAY_LEFT = (
    "ls -d /etc/rackstack/gateway 2>/dev/null; getent passwd rackstack-gateway; ss -Hltn 'sport = :8443'"
)


class Door:
    """The gateway of a fleet, which is on its first host, and how it was set up last."""

    def __init__(self, pair: list[HostRecord], fleet: str) -> None:
        self.host, other = pair
        self.others: list[HostRecord] = []
        self.fleet = fleet
        self.now = dt.datetime.now(dt.UTC)
        self.authority = certificates.make_authority(fleet, self.now)
        self.leaf = certificates.make_leaf(
            self.authority, [self.host.address, other.address, "localhost"], self.now
        )
        self.made: PlaybookOutputs | None = None
        self.last: PlaybookInputs | None = None

    def inputs(self, keys: Mapping[str, str], secret: Mapping[str, str], **changed: Any) -> PlaybookInputs:
        """Return the inputs of `access` with these keys."""
        own: dict[str, Any] = {
            "gateway_tls": True,
            "gateway_certificate": self.leaf.certificate,
            "gateway_routes": [
                {"method": "POST", "path": "/v1/chat/completions"},
                {"method": "GET", "path": "/v1/models"},
                {"method": "GET", "path": "/health"},
            ],
            "gateway_metrics": ["192.0.2.1/32"],
            "gateway_idle_seconds": 600,
            "gateway_total_seconds": 1200,
        }
        secrets = {"gateway_certificate_key": self.leaf.key, **secret}
        return playbooks.access([self.host, *self.others], self.fleet, keys, secrets, **(own | changed))

    def set_up(
        self, keys: Mapping[str, str], secret: Mapping[str, str] | None = None, **changed: Any
    ) -> FakeRun:
        """Run `access`; return what was said of it."""
        inputs, run = self.inputs(keys, secret or {}, **changed), FakeRun()
        if self.made is None or self.last is None:
            self.made = Playbook().create(inputs, run)
        else:
            self.made = Playbook().update(self.last, inputs, self.made, run)
        self.last = inputs
        return run

    def connection(self) -> http.client.HTTPSConnection:
        """Return a connection that trusts the fleet's own authority only."""
        context = ssl.create_default_context(cadata=self.authority.certificate)
        return http.client.HTTPSConnection(self.host.address, PORT, timeout=300, context=context)

    def ask(self, key: str, path: str = "/v1/models") -> tuple[int, str]:
        """Return status and the gateway's word for a GET over a connection of its own."""
        link = self.connection()
        link.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        answer = link.getresponse()
        answer.read()
        link.close()
        return answer.status, answer.headers.get("X-Rackstack-Gateway", "")

    def raw(self, lines: list[str]) -> tuple[int, str, str]:
        """Send lines as they are; return status, the gateway's word and the body."""
        context = ssl.create_default_context(cadata=self.authority.certificate)
        with (
            socket.create_connection((self.host.address, PORT), timeout=300) as plain,
            context.wrap_socket(plain, server_hostname=self.host.address) as link,
        ):
            link.sendall("".join(f"{line}\r\n" for line in [*lines, "Connection: close", ""]).encode())
            answer = http.client.HTTPResponse(link, method=lines[0].split()[0])
            answer.begin()
            return (
                answer.status,
                answer.headers.get("X-Rackstack-Gateway", ""),
                answer.read().decode(),
            )

    @contextlib.contextmanager
    def stream(self, key: str) -> Iterator[http.client.HTTPResponse]:
        """Begin a stream."""
        link = self.connection()
        body = json.dumps({"stream": True})
        link.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {key}"})
        with link.getresponse() as answer:
            yield answer
        link.close()

    def engine(self, path: str) -> Any:
        """Ask the engine's place itself, as root."""
        return json.loads(said(self.host, f"python3 /opt/fetch.py http://127.0.0.1:8000{path}"))

    def show(self, properties: str) -> str:
        """Return properties of the unit."""
        return said(self.host, f"systemctl show {UNIT} --value -p {properties}")

    def processes(self) -> str:
        """Return the processes of the gateway."""
        return said(self.host, f"systemctl show {UNIT} --value -p MainPID; pgrep -u rackstack-gateway | sort")


@pytest.fixture(scope="module")
def pair(fleet: str, image: Path) -> list[HostRecord]:
    """Boot and prepare two hosts, about 20 s."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    asked = [machine(network, fleet, name, index, image) for index, name in ((2, "door"), (3, "other"))]
    hosts = [made.record for made in boot(asked)]
    wanted = {"prepare_packages": ["nginx"], "prepare_memory_mib": 128}
    Playbook().create(playbooks.inputs(hosts, fleet, "prepare", wanted), FakeRun())
    return hosts


@pytest.fixture(scope="module")
def door(pair: list[HostRecord], fleet: str) -> Door:
    """Open the gateway and start what stands for the engine behind it."""
    made = Door(pair, fleet)
    # As in a fleet, it is open before the engine is there.
    made.set_up(OLD)
    assert made.ask(OLD["default"]) == (502, "engine-not-listening")
    _start_upstream(made.host)
    return made


def _start_upstream(host: HostRecord) -> None:
    for name, text in (("upstream", Path(upstream.__file__).read_text()), ("fetch", FETCH)):
        said(host, f"echo {base64.b64encode(text.encode()).decode()} | base64 -d >/opt/{name}.py")
    said(host, "systemd-run --unit=upstream python3 /opt/upstream.py 8000")
    said(host, "until python3 /opt/fetch.py http://127.0.0.1:8000/seen; do :; done 2>/dev/null")


def test_the_gateway_lets_through_what_is_listed_to_who_has_a_key(door: Door) -> None:
    wanted = {case["name"]: (case["status"], case.get("word", "")) for case in CASES}
    assert {case["name"]: _answer(door, case["lines"]) for case in CASES} == wanted
    let_through = [name for name, (status, _) in wanted.items() if status == http.HTTPStatus.OK]
    assert len(door.engine("/seen")) == len(let_through)


def _answer(door: Door, lines: list[str]) -> tuple[int, str]:
    key = OLD["default"]
    for word, value in {"UPPERKEY": key.upper(), "DOTKEY": key.replace(".", "x"), "KEY": key}.items():
        lines = [line.replace(word, value) for line in lines]
    status, word, body = door.raw(lines)
    if word and not lines[0].startswith("HEAD"):
        assert json.loads(body)["error"]["code"] == word
    return status, word


def test_the_engine_is_asked_with_its_own_key_and_told_who_asks(door: Door) -> None:
    link = door.connection()
    sent = {
        "Authorization": f"Bearer {OLD['evaluation']}",
        "X-Forwarded-For": "192.0.2.7",
        "Forwarded": "for=192.0.2.7",
        "X-Real-IP": "192.0.2.7",
        "Upgrade": "websocket",
        "Connection": "keep-alive, Upgrade, Authorization",
    }
    link.request("POST", "/v1/chat/completions?a=1", "{}", sent)
    assert link.getresponse().status == 200
    link.close()
    seen = door.engine("/seen")[-1]
    assert (seen["path"], seen["body"]) == ("/v1/chat/completions?a=1", "{}")
    own = said(door.host, "echo $SSH_CONNECTION").split()[0]
    assert {name: seen["headers"].get(name) for name in (*map(str.lower, sent), "host")} == {
        "authorization": f"Bearer {ENGINE_KEY}",
        "x-forwarded-for": own,
        "forwarded": None,
        "x-real-ip": own,
        "upgrade": None,
        "connection": None,
        "host": "127.0.0.1:8000",
    }


def test_a_source_that_is_not_listed_is_told_so_and_never_reaches_the_engine(door: Door) -> None:
    url = f"https://{door.host.address}:{PORT}/v1/models"
    assert said(door.host, f"python3 /opt/fetch.py {url} {OLD['default']}") == "403 source"


def test_only_the_gateway_and_root_reach_the_engine_on_loopback(door: Door) -> None:
    assert try_ssh(
        door.host, "runuser -u nobody -- python3 /opt/fetch.py http://127.0.0.1:8000/seen"
    ).returncode


def test_a_stream_is_passed_on_as_it_comes_and_outlives_a_rotation(door: Door) -> None:
    before = door.show("MainPID")
    with door.stream(OLD["evaluation"]) as answer:
        assert answer.status == http.HTTPStatus.OK
        # The engine waits to be released: this arrives although the rest was not even written.
        assert answer.readline() == b"data: first\n"

        door.set_up(NEW)
        assert door.ask(OLD["evaluation"]) == (401, "no-key")
        assert door.ask(NEW["evaluation"]) == (200, "")
        assert door.ask(NEW["default"]) == (200, "")
        assert door.show("MainPID") == before
        door.engine("/release")
        rest = answer.read().decode().split()
    assert rest == [word for number in range(upstream.SEVERAL) for word in ("data:", str(number))]


def test_the_log_names_the_key_and_holds_none(door: Door) -> None:
    door.ask(NEW["evaluation"], "/v1/models?secret=query")
    door.ask("rk-not-a-key-of-this-fleet")
    log = said(door.host, f"journalctl --sync; journalctl -o cat --unit {UNIT}")
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    named = [line for line in lines if line["key"] == "evaluation" and line["path"] == "/v1/models"]
    assert named[-1]["status"] == http.HTTPStatus.OK
    assert [lines[-1][word] for word in ("key", "status", "gateway")] == ["", 401, "no-key"]
    for hidden in (*OLD.values(), *NEW.values(), ENGINE_KEY, "rk-not-a-key-of-this-fleet", "query"):
        assert hidden not in log


def test_files_that_nginx_refuses_change_nothing_that_runs(door: Door) -> None:
    other = certificates.make_leaf(door.authority, ["other"], door.now)
    before = door.processes()
    with pytest.raises(Incomplete, match="key values mismatch") as failed:
        door.set_up(NEW, {"gateway_certificate_key": other.key})
    assert failed.value.reasons[0].startswith("door: nginx refuses the gateway's files (")
    assert not any(key in str(failed.value) for key in (*NEW.values(), ENGINE_KEY))
    assert door.processes() == before
    assert door.ask(NEW["default"]) == (200, "")


def test_a_key_that_no_gateway_can_hold_is_refused_by_its_name(door: Door) -> None:
    wrong = 'rk-with-a-"quote"-0123456'
    with pytest.raises(Incomplete, match="gateway_secret_default holds a character") as failed:
        door.set_up(NEW | {"default": wrong})
    assert wrong not in str(failed.value)


def test_a_gateway_that_was_stopped_is_started_and_a_taken_port_has_a_name(door: Door) -> None:
    said(door.host, f"systemctl stop {UNIT}")
    said(door.host, f"systemd-run --unit=thief python3 -m http.server --bind 127.0.0.1 {PORT}")
    said(door.host, f"until python3 /opt/fetch.py http://127.0.0.1:{PORT}/; do :; done")
    with pytest.raises(Incomplete, match=rf"door: port {PORT} is taken by '.*python3 .* of thief\.service"):
        door.set_up(NEW)
    said(door.host, "systemctl stop thief")
    door.set_up(NEW)
    assert door.ask(NEW["default"]) == (200, "")


def test_what_is_as_it_should_be_is_left_alone(door: Door) -> None:
    before = door.processes()
    door.set_up(NEW)
    assert door.processes() == before
    assert door.last is not None
    assert door.made is not None
    assert Playbook().read(door.last, door.made, FakeRun()).drift == {}


def test_it_moves_to_another_host_and_asks_the_engine_from_there(door: Door, pair: list[HostRecord]) -> None:
    first, second = pair
    said(first, "sed s/127.0.0.1/0.0.0.0/ /opt/upstream.py >/opt/member.py")
    said(first, "systemd-run --unit=member python3 /opt/member.py 8001")
    door.host, door.others = second, [first]
    door.set_up(NEW, gateway_upstream=f"{first.address}:8001")
    assert door.ask(NEW["default"]) == (200, "")
    assert door.ask(OLD["evaluation"]) == (401, "no-key")
    assert reached(first.address, [PORT, 8000, 8001]) == dict.fromkeys([PORT, 8000, 8001], "silent")
    assert said(first, GATEWAY_LEFT) == ""


def test_nothing_is_left_of_it(door: Door, pair: list[HostRecord]) -> None:
    assert door.last is not None
    assert door.made is not None
    Playbook().delete(door.last, door.made, FakeRun())
    for host in pair:
        assert said(host, LEFT) == "", host.name
    Playbook().delete(door.last, door.made, FakeRun())

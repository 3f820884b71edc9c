"""The client snippet runs, and asks as the model wants to be asked."""

import datetime as dt
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from components.gateway.certificates import make_authority, make_leaf
from stacks.planning import FleetPlan
from stacks.report import entrance, snippet
from tests.unit.stacks.report.conftest import MADE_UP

URL = "http://10.0.0.1:8000/v1"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stand in for the OpenAI client; what it was asked."""
    seen: dict[str, Any] = {}
    message = SimpleNamespace(content="101, 103, 107", reasoning="they are prime", tool_calls=None)

    def create(**arguments: Any) -> SimpleNamespace:
        seen["create"] = arguments
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    def client(**arguments: Any) -> SimpleNamespace:
        seen["client"] = arguments
        return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))

    module = ModuleType("openai")
    module.OpenAI = client  # type: ignore[attr-defined] # a stand-in module has what is put in it
    monkeypatch.setitem(sys.modules, "openai", module)
    return seen


def run(plan: FleetPlan) -> None:
    exec(compile(snippet(plan, URL), "snippet", "exec"), {})  # noqa: S102 - that it runs is the point


def test_it_runs_for_every_shipped_stack(shipped: FleetPlan, asked: dict[str, Any]) -> None:
    run(shipped)
    known = shipped.endpoint
    assert asked["client"] == {"base_url": URL, "timeout": known.timeout}
    assert asked["create"]["model"] == shipped.served_name
    assert asked["create"]["max_tokens"] == known.max_tokens
    sent = {**asked["create"], **asked["create"].get("extra_body", {})}
    assert {name: sent[name] for name in known.sampling} == dict(known.sampling)
    efforts = () if known.efforts == "unknown" else known.efforts
    assert sent.get("reasoning_effort") == next(iter(efforts), None)


def test_it_shows_reasoning_apart_and_tells_of_tools(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    plan = MADE_UP["two trays"]
    run(plan)
    assert capsys.readouterr().out == "they are prime\n101, 103, 107\n"
    assert asked["create"]["extra_body"] == {"top_k": 20}
    text = snippet(plan, URL)
    assert "message.tool_calls" in text
    assert "with its reasoning" in text


def test_the_address_of_a_router_comes_from_its_variable(asked: dict[str, Any]) -> None:
    apart, one = MADE_UP["six trays apart"], MADE_UP["two trays"]
    assert entrance(apart) is None
    assert entrance(one) == "https://localhost:8443/v1"
    assert entrance(reached(one, sources=("operator",), tls="off")) == "http://tray-0:8443/v1"
    text = snippet(apart, None)
    exec(compile(text, "snippet", "exec"), {})  # noqa: S102 - that it runs is the point
    assert asked["client"] == {"timeout": 3600}
    assert "OPENAI_BASE_URL" in text
    assert "OPENAI_BASE_URL" not in snippet(one, URL)


def reached(plan: FleetPlan, **changes: Any) -> FleetPlan:
    return plan.model_copy(update={"access": plan.access.model_copy(update=changes)})


def test_what_a_client_needs_around_it_is_said() -> None:
    one = MADE_UP["two trays"]
    text = snippet(one, URL)
    assert "pulumi stack output caCertificate -s made-up >ca.pem; export SSL_CERT_FILE=$PWD/ca.pem" in text
    assert "The gateway is private" in text
    for changes in ({"tls": "given"}, {"tls": "off"}):
        plain = snippet(reached(one, sources=("operator",), **changes), URL)
        assert "SSL_CERT_FILE" not in plain
        assert "private" not in plain


def test_the_client_that_people_have_trusts_the_stacks_own_ca(tmp_path: Path) -> None:
    """No other store of the machine knows the authority, so an answer proves that SSL_CERT_FILE is read."""
    now = dt.datetime.now(dt.UTC)
    authority = make_authority("made-up", now)
    leaf = make_leaf(authority, ["localhost", "127.0.0.1"], now)
    (tmp_path / "ca.pem").write_text(authority.certificate)
    (tmp_path / "server.pem").write_text(leaf.certificate + leaf.key)
    with answering(tmp_path / "server.pem") as port:
        text = snippet(MADE_UP["two trays"], f"https://localhost:{port}/v1")
        told = subprocess.run(
            [sys.executable, "-c", text],
            env={"OPENAI_API_KEY": "made-up", "SSL_CERT_FILE": str(tmp_path / "ca.pem")},
            capture_output=True,
            text=True,
            check=False,
        )
    assert told.stdout == "they are prime\n101, 103, 107\n", told.stderr


class Answers(BaseHTTPRequestHandler):
    """Answers every question alike."""

    def do_POST(self) -> None:
        """Answer one."""
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "101, 103, 107", "reasoning": "they are prime"}
        body = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def answering(certificate: Path) -> Iterator[int]:
    """Answer every question on loopback over TLS; yields the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize("efforts", ["unknown", ()])
def test_an_effort_that_nobody_documents_is_not_asked_for(efforts: Any, asked: dict[str, Any]) -> None:
    plan = MADE_UP["two trays"]
    run(plan.model_copy(update={"endpoint": plan.endpoint.model_copy(update={"efforts": efforts})}))
    assert "reasoning_effort" not in asked["create"]


def test_a_model_without_reasoning_gets_the_shortest() -> None:
    plan = MADE_UP["two trays"]
    plain = plan.endpoint.model_copy(
        update={
            "reasoning_parser": None,
            "tool_parser": None,
            "efforts": (),
            "preserved_thinking": "unknown",
            "sampling": {},
        }
    )
    text = snippet(plan.model_copy(update={"endpoint": plain}), URL)
    assert not any(word in text for word in ("reasoning", "tool", "extra_body", "temperature"))


def test_quotes_in_names_stay_inside(asked: dict[str, Any]) -> None:
    run(MADE_UP["two trays"].model_copy(update={"served_name": 'a"b\\c'}))
    assert asked["create"]["model"] == 'a"b\\c'

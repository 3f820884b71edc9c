"""What is asked of an endpoint, and what becomes of one that does not answer or cannot be trusted."""

from __future__ import annotations

import datetime as dt
import json
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from components.gateway.certificates import Pair, make_authority, make_leaf
from components.hosts import ssh
from components.readiness.endpoint import QUESTION, TOKENS, Door, ask
from stacks.errors import Refusal, Unreachable
from tests.factories.hosts import host
from tests.fakes.engine import GOOD, FakeEngine, serving

if TYPE_CHECKING:
    from pathlib import Path

    from components.hosts.record import HostRecord

KEY = "rk-right"
NOW = dt.datetime.now(dt.UTC)
LONG_AGO = NOW - dt.timedelta(days=900)
OURS, OTHERS = make_authority("lab-1", NOW), make_authority("lab-2", NOW)


def test_the_question_is_small_and_always_the_same() -> None:
    with serving(_ready(FakeEngine())) as engine:
        answer = ask(Door(engine.endpoint), "tiny", KEY, 5)
    assert (answer.status, answer.without_key, answer.leaked) == (200, 401, None)
    assert json.loads(answer.body) == GOOD
    message = {"role": "user", "content": QUESTION}
    assert engine.asked == [{"model": "tiny", "messages": [message], "max_tokens": TOKENS, "temperature": 0}]
    assert engine.lines == 1


def test_an_open_list_of_models_shows() -> None:
    with serving(_ready(FakeEngine(open=True))) as engine:
        assert ask(Door(engine.endpoint), "tiny", KEY, 5).without_key == 200


def test_a_path_of_the_engine_that_is_let_through_shows() -> None:
    with serving(_ready(FakeEngine(leaks=True))) as engine:
        assert ask(Door(engine.endpoint), "tiny", KEY, 5).leaked == 405


def test_a_refusal_is_an_answer() -> None:
    with serving(FakeEngine()) as engine:
        answer = ask(Door(engine.endpoint), "tiny", "rk-wrong", 5)
    assert (answer.status, answer.gateway) == (401, "no-key")


@pytest.mark.parametrize(
    ("status", "word", "told"),
    [
        (502, "engine-not-listening", "nothing listens behind the gateway at"),
        (504, "engine-silent", "the engine behind the gateway at .* did not answer in time"),
    ],
)
def test_a_gateway_without_its_engine_is_waited_for(status: int, word: str, told: str) -> None:
    with (
        serving(_ready(FakeEngine(status=status, word=word))) as engine,
        pytest.raises(Unreachable, match=told),
    ):
        ask(Door(engine.endpoint), "tiny", KEY, 5)


def test_nothing_listens() -> None:
    with pytest.raises(Unreachable, match=r"^nothing listens at http://127\.0\.0\.1:1/v1$"):
        ask(Door("http://127.0.0.1:1/v1"), "tiny", KEY, 5)


def test_no_answer_in_time() -> None:
    with serving(FakeEngine()) as engine, pytest.raises(Unreachable, match="did not answer within 0 s"):
        ask(Door(engine.endpoint), "tiny", KEY, 0.05)


def test_no_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        with pytest.raises(Unreachable, match="did not answer within 0 s"):
            ask(Door(endpoint), "tiny", KEY, 0.05)


def test_a_name_without_an_address_is_no_reason_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    with pytest.raises(
        Refusal, match=r"^https://k3\.example\.org:8443/v1 cannot be found: k3\.example\.org "
    ):
        ask(Door("https://k3.example.org:8443/v1"), "tiny", KEY, 5)


def test_a_certificate_of_the_fleets_authority_is_trusted(tmp_path: Path) -> None:
    shown = _showing(tmp_path, make_leaf(OURS, ["127.0.0.1", "localhost"], NOW))
    for name in ("127.0.0.1", "localhost"):
        with serving(_ready(FakeEngine()), shown, name) as engine:
            assert ask(Door(engine.endpoint, OURS.certificate), "tiny", KEY, 5).status == 200
        assert engine.lines == 1


@pytest.mark.parametrize(
    ("authority", "leaf", "told"),
    [
        (OURS, make_leaf(OTHERS, ["127.0.0.1"], NOW), "comes from another authority than the fleet's"),
        (OURS, make_leaf(OURS, ["10.0.0.9"], NOW), r"is for another name or address \(IP .*run `pulumi up`"),
        (OURS, make_leaf(OURS, ["127.0.0.1"], LONG_AGO), "has expired: run `pulumi up`"),
        (
            OURS,
            make_leaf(OURS, ["127.0.0.1"], NOW + dt.timedelta(days=2)),
            "is not valid yet: set the clock of this machine",
        ),
        (
            None,
            make_leaf(OTHERS, ["127.0.0.1"], NOW),
            r"comes from an authority that this machine does not know .* name its file in SSL_CERT_FILE",
        ),
    ],
    ids=["authority", "name", "expired", "early", "given"],
)
def test_what_cannot_be_trusted_is_refused_with_the_way_out(
    tmp_path: Path, authority: Pair | None, leaf: Pair, told: str
) -> None:
    trusted = authority.certificate if authority else ""
    with (
        serving(_ready(FakeEngine()), _showing(tmp_path, leaf)) as engine,
        pytest.raises(Refusal, match=f"^the certificate at {engine.endpoint} {told}"),
    ):
        ask(Door(engine.endpoint, trusted), "tiny", KEY, 5)
    assert engine.asked == []


def test_there_is_no_way_back_to_plain_http() -> None:
    with serving(_ready(FakeEngine())) as engine:
        endpoint = engine.endpoint.replace("http://", "https://")
        with pytest.raises(Refusal, match=f"^{endpoint} speaks no TLS that this machine understands"):
            ask(Door(endpoint, OURS.certificate), "tiny", KEY, 5)
    assert engine.asked == []


def test_a_private_gateway_is_reached_through_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[tuple[str, int]] = []

    def tunnel(through: HostRecord, port: int, deadline: float) -> socket.socket:
        reached.append((through.name, port))
        return socket.create_connection(("127.0.0.1", port), deadline)

    monkeypatch.setattr(ssh, "tunnel", tunnel)
    shown = _showing(tmp_path, make_leaf(OURS, ["localhost"], NOW))
    with serving(_ready(FakeEngine()), shown, "localhost") as engine:
        assert ask(Door(engine.endpoint, OURS.certificate, host("tray-0")), "tiny", KEY, 5).status == 200
    assert reached == [("tray-0", engine.port)]


def _ready(engine: FakeEngine) -> FakeEngine:
    engine.held.set()
    return engine


def _showing(folder: Path, leaf: Pair) -> ssl.SSLContext:
    file = folder / "shown.pem"
    file.write_text(f"{leaf.key}{leaf.certificate}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context

"""What is asked of an endpoint, and what becomes of one that does not answer."""

import json
import socket

import pytest

from components.readiness.endpoint import QUESTION, TOKENS, ask
from stacks.errors import Unreachable
from tests.fakes.engine import GOOD, FakeEngine, serving


def test_the_question_is_small_and_always_the_same() -> None:
    with serving(_ready(FakeEngine())) as engine:
        answer = ask(engine.endpoint, "tiny", "rk-right", 5)
    assert (answer.status, answer.without_key) == (200, 401)
    assert json.loads(answer.body) == GOOD
    message = {"role": "user", "content": QUESTION}
    assert engine.asked == [{"model": "tiny", "messages": [message], "max_tokens": TOKENS, "temperature": 0}]


def test_an_open_list_of_models_shows() -> None:
    with serving(_ready(FakeEngine(open=True))) as engine:
        assert ask(engine.endpoint, "tiny", "rk-right", 5).without_key == 200


def test_a_refusal_is_an_answer() -> None:
    with serving(FakeEngine()) as engine:
        assert ask(engine.endpoint, "tiny", "rk-wrong", 5).status == 401


def test_nothing_listens() -> None:
    with pytest.raises(Unreachable, match=r"^nothing listens at http://127\.0\.0\.1:1/v1$"):
        ask("http://127.0.0.1:1/v1", "tiny", "rk-right", 5)


def test_no_answer_in_time() -> None:
    with serving(FakeEngine()) as engine, pytest.raises(Unreachable, match="did not answer within 0 s"):
        ask(engine.endpoint, "tiny", "rk-right", 0.05)


def test_no_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        server.settimeout(5)
        with pytest.raises(Unreachable, match="did not answer within 0 s"):
            ask(endpoint, "tiny", "rk-right", 0.05)


def _ready(engine: FakeEngine) -> FakeEngine:
    engine.held.set()
    return engine

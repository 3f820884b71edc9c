"""An OpenAI-compatible endpoint on loopback that answers what a test tells it."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

GOOD = {
    "model": "tiny",
    "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
    "usage": {"completion_tokens": 1},
}


@dataclass
class FakeEngine:
    """What it answers and what it was asked.

    Attributes:
        key: The key that it asks for on every path.
        status: HTTP status of its completions.
        body: Their body.
        open: Whether the list of models needs no key.
        held: Completions wait for this.
        asked: The questions, decoded.
        endpoint: Its base URL.
    """

    key: str = "rk-right"
    status: int = 200
    body: Any = field(default_factory=lambda: GOOD)
    open: bool = False
    held: threading.Event = field(default_factory=threading.Event)
    asked: list[dict[str, Any]] = field(default_factory=list)
    endpoint: str = ""


@contextlib.contextmanager
def serving(engine: FakeEngine) -> Iterator[FakeEngine]:
    """Serve on a free port of loopback until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(engine))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    engine.endpoint = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield engine
    finally:
        engine.held.set()
        server.shutdown()
        server.server_close()


def _handler(engine: FakeEngine) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = engine.open or self._knows_the_key()
            self._answer(200 if allowed and self.path == "/v1/models" else 401, {})

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self._knows_the_key():
                self._answer(401, {"error": "Unauthorized"})
                return
            assert self.path == "/v1/chat/completions"
            engine.asked.append(question)
            engine.held.wait()
            self._answer(engine.status, engine.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
            pass

        def _knows_the_key(self) -> bool:
            return bool(self.headers.get("Authorization") == f"Bearer {engine.key}")

        def _answer(self, status: int, body: Any) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            with contextlib.suppress(ConnectionError):  # nobody waits any more
                self.end_headers()
                self.wfile.write(text)

    return Handler

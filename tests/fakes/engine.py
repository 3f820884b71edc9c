"""An OpenAI-compatible endpoint behind its gateway, on loopback: it answers what a test tells it."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
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
        word: The gateway's word on them; empty where the engine answers.
        open: Whether the list of models needs no key.
        leaks: Whether the gateway lets the engine's own paths through.
        held: Completions wait for this.
        asked: The questions, decoded.
        lines: How many connections were made.
        endpoint: Its base URL.
    """

    key: str = "rk-right"
    status: int = 200
    body: Any = field(default_factory=lambda: GOOD)
    word: str = ""
    open: bool = False
    leaks: bool = False
    held: threading.Event = field(default_factory=threading.Event)
    asked: list[dict[str, Any]] = field(default_factory=list)
    lines: int = 0
    endpoint: str = ""

    @property
    def port(self) -> int:
        """Return its port."""
        return int(self.endpoint.rsplit(":", 1)[1].removesuffix("/v1"))


@contextlib.contextmanager
def serving(
    engine: FakeEngine, tls: ssl.SSLContext | None = None, name: str = "127.0.0.1"
) -> Iterator[FakeEngine]:
    """Serve on a free port of loopback until the end of the block, under a name that leads there."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"engine": engine}))
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    engine.endpoint = f"http{'s' if tls else ''}://{name}:{server.server_port}/v1"
    try:
        yield engine
    finally:
        engine.held.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    engine: FakeEngine
    protocol_version = "HTTP/1.1"  # a connection serves several requests

    def setup(self) -> None:
        self.engine.lines += 1
        super().setup()

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # who does not trust us hangs up
            super().handle()

    def do_GET(self) -> None:
        if not self.engine.open and not self._knows_the_key():
            self._answer(401, {}, "no-key")
        elif self.path == "/v1/models":
            self._answer(200, {})
        elif self.engine.leaks:
            self._answer(405, {})
        else:
            self._answer(404, {}, "not-allowed")

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._knows_the_key():
            self._answer(401, {"error": "Unauthorized"}, "no-key")
            return
        assert self.path == "/v1/chat/completions"
        self.engine.asked.append(question)
        self.engine.held.wait()
        self._answer(self.engine.status, self.engine.body, self.engine.word)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
        pass

    def _knows_the_key(self) -> bool:
        return bool(self.headers.get("Authorization") == f"Bearer {self.engine.key}")

    def _answer(self, status: int, body: Any, word: str = "") -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        if word:
            self.send_header("X-Rackstack-Gateway", word)
        with contextlib.suppress(ConnectionError):  # nobody waits any more
            self.end_headers()
            self.wfile.write(text)

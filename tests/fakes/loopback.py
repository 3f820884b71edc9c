"""An HTTP server on this machine's loopback, whose answers a test chooses."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]


class Reply(NamedTuple):
    """An answer; `cut` leaves out so many bytes of the end that its length promises."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    cut: int = 0


@contextmanager
def served(answer: Callable[[Asked], Reply]) -> Iterator[str]:
    """Yield the address of a server that answers with a function."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            where = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, unquote(where.path), parse_qs(where.query), headers)
            reply = answer(asked)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body[: len(reply.body) - reply.cut])
            self.close_connection = bool(reply.cut)

        do_HEAD = do_GET  # noqa: N815 - the library's name

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""An engine's place on a lab host: it remembers what it was asked, and streams as far as it is let.

A program for the host, so it stands alone. Usage: python3 - PORT
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SEEN: list[dict[str, Any]] = []
RELEASED = threading.Event()
SEVERAL = 20


class Upstream(BaseHTTPRequestHandler):
    """Answers everything; /seen and /release are for the test."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with what was asked so far, let streams end, or remember."""
        if self.path == "/seen":
            self._answer(SEEN)
        elif self.path == "/release":
            RELEASED.set()
            self._answer({})
        else:
            self._remember("")
            self._answer({"path": self.path})

    def do_POST(self) -> None:
        """Stream a first piece, wait to be released, then stream the rest; or answer at once."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self._remember(body)
        if "stream" not in body:
            self._answer({"path": self.path})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._piece("data: first\n\n")
        RELEASED.wait()
        for number in range(SEVERAL):
            self._piece(f"data: {number}\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
        """Say nothing."""

    def _remember(self, body: str) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        SEEN.append({"method": self.command, "path": self.path, "headers": headers, "body": body})

    def _piece(self, text: str) -> None:
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
        self.wfile.flush()

    def _answer(self, content: Any) -> None:
        text = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Upstream).serve_forever()

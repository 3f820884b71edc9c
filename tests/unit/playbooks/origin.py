"""A mirror on loopback, and the checkpoint that it has."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CONTENT = {"config.json": b"{}", "shards/model 1.safetensors": bytes(range(256)) * 40, "empty.txt": b""}


class Mirror(ThreadingHTTPServer):
    """A mirror on loopback whose files and habits a test changes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.files = dict(CONTENT)
        self.ranges = True
        self.breaks_after: int | None = None
        self.busy = 0
        self.sent: list[tuple[str, str]] = []
        self.silent: str | None = None
        self.asked = threading.Event()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        """Return the address of its folder."""
        return f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, *_: object) -> None:
        """Say nothing of who was killed while it was answered."""


class _Answer(BaseHTTPRequestHandler):
    server: Mirror

    def do_GET(self) -> None:
        """Send the file, or the part that was asked for."""
        name = self.path.removeprefix("/").replace("%20", " ")
        begin = (
            int(self.headers["Range"].removeprefix("bytes=").removesuffix("-")) if self.server.ranges else 0
        )
        self.server.sent.append((name, self.headers["Range"]))
        if name == self.server.silent:
            self.server.asked.set()
            self.server.over.wait(60)
        content = self.server.files.get(name)
        if name == "config.json" and self.server.busy:
            self.server.busy -= 1
            self.send_error(503)
        elif content is None:
            self.send_error(404)
        elif begin and begin >= len(content):
            self.send_error(416)
        else:
            self.send_response(206 if self.server.ranges else 200)
            self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            self.wfile.write(content[begin:][: self.server.breaks_after])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def there(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

"""A mirror of wheels and checkpoints on the operator's side of a lab network, as ill as a test wants it."""

from __future__ import annotations

import mmap
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass
class Ill:
    """What is wrong with one file.

    Attributes:
        times: How many requests meet it; later ones are answered well.
        status: The answer instead of the file.
        after: Bytes of a request's part that are sent before the connection is cut or stalls.
        stalls: Nothing more comes, but the connection stays.
        meanwhile: Called after these bytes, with the file only half sent.
    """

    times: int = 1000
    status: int = 200
    after: int | None = None
    stalls: bool = False
    meanwhile: Callable[[], object] | None = None


@dataclass
class Mirror:
    """What the mirror has and what it was asked for.

    Attributes:
        url: Its base, without a slash at the end.
        files: Path → content, or the file that has it.
        ill: Path → what is wrong with it.
        asked: Path and range of every request.
    """

    url: str = ""
    files: dict[str, bytes | Path] = field(default_factory=dict)
    ill: dict[str, Ill] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(address: str) -> Iterator[Mirror]:
    """Serve on a free port of that address of this machine until the end of the block."""
    mirror = Mirror()
    server = _Server((address, 0), _Answer)
    server.mirror = mirror
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    mirror.url = f"http://{address}:{server.server_port}"
    try:
        yield mirror
    finally:
        mirror.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    mirror: Mirror


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        mirror, path, wanted = self.server.mirror, unquote(self.path), self.headers.get("Range", "")
        mirror.asked.append((path, wanted))
        ill = _meet(mirror, path)
        if path.endswith("/"):
            self._send(200, _listing(mirror, path), {"Content-Type": "text/html"}, ill)
        elif path not in mirror.files:
            self._send(404, b"", {}, Ill())
        elif ill.status != HTTPStatus.OK:
            self._send(ill.status, b"", {}, Ill())
        else:
            self._send_part(_content(mirror.files[path]), wanted, ill)

    do_HEAD = do_GET  # noqa: N815 -- the library's name

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _send_part(self, content: memoryview, wanted: str, ill: Ill) -> None:
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        start = int(first or 0)
        end = int(last) + 1 if last else len(content)
        span = {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}", "Accept-Ranges": "bytes"}
        self._send(206 if wanted else 200, content[start:end], span if wanted else {}, ill)

    def _send(self, status: int, body: bytes | memoryview, headers: dict[str, str], ill: Ill) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self._write(body[: ill.after])
        if ill.meanwhile:
            ill.meanwhile()
            self._write(body[ill.after :])
        elif ill.after is not None:
            if ill.stalls:
                self.server.mirror.over.wait(120)
            self.close_connection = True

    def _write(self, body: bytes | memoryview) -> None:
        try:
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:  # who asked has gone
            self.close_connection = True


def _content(file: bytes | Path) -> memoryview:
    """Return what a file holds without reading all of it: wheels have hundreds of megabytes."""
    if isinstance(file, bytes):
        return memoryview(file)
    with file.open("rb") as opened:
        return memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))


def _meet(mirror: Mirror, path: str) -> Ill:
    ill = mirror.ill.get(path)
    if ill is None or ill.times <= 0:
        return Ill()
    ill.times -= 1
    return ill


def _listing(mirror: Mirror, folder: str) -> bytes:
    names = [path.removeprefix(folder) for path in mirror.files if path.startswith(folder)]
    return "".join(f'<a href="{name}">{name}</a>\n' for name in names).encode()

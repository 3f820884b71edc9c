"""The streams of the benchmark: they are timed, none that broke off passes for a whole one."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
import yaml

from tools.bench import rotation, streams, upstream
from tools.bench.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_every_token_of_every_stream_is_timed() -> None:
    async def measured() -> dict[str, list[float]]:
        port = _free_port()
        engine = asyncio.create_task(upstream.main(str(port), "0", "0"))
        try:
            await _listens(port)
            target = {"port": port, "key": "k", "authority": ""}
            wanted = {
                "concurrency": 3,
                "tokens": 5,
                "rounds": 1,
                "model": "m",
                "targets": [{"name": "direct", **target}, {"name": "through", **target}],
            }
            return await streams.measured(wanted)
        finally:
            engine.cancel()

    found = asyncio.run(measured())
    assert set(found) == {"direct", "through"}
    assert all(seconds >= 0 for times in found.values() for seconds in times)


@pytest.mark.parametrize(
    ("status", "body", "fault"),
    [
        (200, 'data: {"choices": []}\n\ndata: [DONE]\n\n', ""),
        (200, 'data: {"choices": []}\n\n', "it ended before its last word"),
        (401, '{"error": "no key"}', '401 {"error": "no key"}'),
    ],
    ids=["whole", "broken off", "refused"],
)
def test_a_stream_is_whole_or_says_why_not(status: int, body: str, fault: str) -> None:
    with _answering(status, body) as endpoint:
        fleet = Served((), (), endpoint, "m", "", {"default": "k"}, "e")
        assert rotation.streamed(fleet, "k") == fault


def test_clients_count_what_was_dropped() -> None:
    with _answering(200, "data: {}\n\n") as endpoint:
        clients = rotation.Clients(Served((), (), endpoint, "m", "", {"default": "k"}, "e"), "k")
        with clients.streaming():
            pass
    assert clients.whole == 0
    assert len(clients.dropped) <= rotation.CLIENTS


@pytest.mark.parametrize(("whole", "dropped", "kept"), [(7, 0, True), (7, 1, False), (0, 0, False)])
def test_none_is_dropped_only_where_some_were_whole(whole: int, dropped: int, kept: bool) -> None:  # noqa: FBT001 -- a case
    assert rotation.none_dropped(whole, dropped).kept == kept


def test_new_keys_stand_behind_those_that_stay(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text("config:\n  rackstack:fleet:\n    access:\n      sources: [operator]\n")
    rotation.write_keys(file, {"second": 1})
    rotation.write_keys(file, {"second": 2, "third": 1})
    assert yaml.safe_load(file.read_text())["config"]["rackstack:fleet"]["access"] == {
        "sources": ["operator"],
        "keys": [{"name": "default"}, {"name": "second", "serial": 2}, {"name": "third", "serial": 1}],
    }


@contextmanager
def _answering(status: int, body: str) -> Iterator[str]:
    """Answer every request with the same, and return the base URL."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert asked["stream"]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _free_port() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return server.server_port


async def _listens(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0)
        else:
            writer.close()
            return

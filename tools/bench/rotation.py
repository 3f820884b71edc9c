"""How long a rotation of keys takes, and what it does to clients that stream all the while."""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tools.bench.figure import Figure, none_of, within
from tools.bench.project import Project
from tools.bench.served import Served

CLIENTS = 4
_TOKENS = 200
_PATIENCE = 120.0  # seconds of silence in a stream, after which it counts as dropped
_FLEET = "rackstack:fleet"


class Clients:
    """Clients that stream one answer after another with one key, and count how each stream ended."""

    def __init__(self, fleet: Served, key: str) -> None:
        self.whole = 0
        self.dropped: list[str] = []
        self._fleet, self._key = fleet, key
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._stream_on) for _ in range(CLIENTS)]

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """Stream while the caller does something; streams that are under way then are waited for."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._done.set()
            for thread in self._threads:
                thread.join()

    def _stream_on(self) -> None:
        while not self._done.is_set():
            try:
                fault = streamed(self._fleet, self._key)
            except (OSError, HTTPException) as error:
                fault = f"{type(error).__name__}: {error}"
            if fault:
                self.dropped.append(fault)
                return
            self.whole += 1


def streamed(fleet: Served, key: str) -> str:
    """Stream one answer; return why it was not whole, or an empty text.

    Raises:
        OSError: The connection broke.
        HTTPException: What came was no HTTP.
    """
    with closing(_connection(fleet)) as line:
        body = {
            "model": fleet.model,
            "prompt": "Hello",
            "max_tokens": _TOKENS,
            "ignore_eos": True,
            "stream": True,
        }
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        line.request("POST", f"{urlsplit(fleet.endpoint).path}/completions", json.dumps(body), headers)
        answer = line.getresponse()
        if answer.status != HTTPStatus.OK:
            return f"{answer.status} {answer.read().decode(errors='replace')[:200]}"
        return "" if answer.read().endswith(b"data: [DONE]\n\n") else "it ended before its last word"


def figures(project: Project, stack_file: Path, fleet: Served) -> Iterator[Figure]:
    """Yield what it takes to add a key, then to make that key anew and add another, under streams."""
    clients = Clients(fleet, next(iter(fleet.keys.values())))
    with clients.streaming():
        added = _up_with(project, stack_file, {"second": 1})
        rotated = _up_with(project, stack_file, {"second": 2, "third": 1})
    under = f"{CLIENTS} streams at once"
    yield within("`up` that adds an API key, the fleet streaming", added, most=60, parts=under)
    yield within("`up` that rotates a key and adds one", rotated, most=60, parts=under)
    yield none_dropped(clients.whole, len(clients.dropped))


def none_dropped(whole: int, dropped: int) -> Figure:
    """Return how many requests were dropped; that none of none was says nothing, and is not kept."""
    figure = none_of(f"requests dropped meanwhile, of {whole + dropped}", dropped)
    return figure._replace(kept=figure.kept and whole > 0)


def write_keys(stack_file: Path, more: Mapping[str, int]) -> None:
    """Write generated keys, name → serial, into a stack file behind those that it has."""
    written = yaml.safe_load(stack_file.read_text())
    access: dict[str, Any] = written["config"][_FLEET].setdefault("access", {})
    kept = [key for key in access.get("keys", [{"name": "default"}]) if key["name"] not in more]
    access["keys"] = [*kept, *({"name": name, "serial": serial} for name, serial in more.items())]
    stack_file.write_text(yaml.safe_dump(written))


def _up_with(project: Project, stack_file: Path, more: Mapping[str, int]) -> float:
    write_keys(stack_file, more)
    return project.seconds("up", "--yes", "--skip-preview", "--refresh=false")


def _connection(fleet: Served) -> HTTPConnection:
    url = urlsplit(fleet.endpoint)
    if url.scheme == "http":
        return HTTPConnection(url.netloc, timeout=_PATIENCE)
    trust = ssl.create_default_context(cadata=fleet.authority)
    return HTTPSConnection(url.netloc, timeout=_PATIENCE, context=trust)

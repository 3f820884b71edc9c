"""A checkpoint on a mirror, and where it is to lie."""

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.playbooks.origin import CONTENT, Mirror


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints/name/revision"


@pytest.fixture
def manifest(mirror: Mirror, home: Path, tmp_path: Path) -> Path:
    files = [
        {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for path, content in CONTENT.items()
    ]
    manifest = tmp_path / "manifest"
    manifest.write_text(json.dumps({"url": mirror.url, "home": str(home), "files": files}), encoding="utf-8")
    return manifest

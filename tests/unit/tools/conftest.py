"""A package index on loopback that uv asks instead of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import index as fakes


@pytest.fixture(scope="session")
def uv_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache for all tests: what uv asks an interpreter takes longer than all the rest."""
    return tmp_path_factory.mktemp("uv")


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, uv_cache: Path) -> Iterator[fakes.Index]:
    """Yield an empty index."""
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_CACHE_DIR", str(uv_cache))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with fakes.running() as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{index.url}/simple")
        yield index

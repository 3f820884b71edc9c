"""A hub of models and a registry of images, which answer as the real ones do."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.loopback import Asked, Reply, served

GONE = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
GATED = {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this model is restricted."}
NO_REVISION = {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"}


@dataclass
class Repository:
    """A model: its newest commit, older ones, and its files; those ending in .safetensors are in LFS."""

    commit: str
    files: dict[str, bytes]
    older: tuple[str, ...] = ()
    gated: bool = False


@dataclass
class Hub:
    """What the hub has.

    Attributes:
        url: Its address.
        repositories: Name → model.
        renamed: Old name → new name.
        faults: Path → answers that come first, each once.
        sizes: Path of a file → the size that the hub says it has, where that is another.
        asked: Paths that were asked for, in order.
    """

    url: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    faults: dict[str, list[Reply]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Reply:
        """Answer one request."""
        self.asked.append(asked.path)
        if self.faults.get(asked.path):
            return self.faults[asked.path].pop(0)
        if asked.path.startswith("/api/models/"):
            name, _, revision = asked.path.removeprefix("/api/models/").partition("/revision/")
            return self._model(name, revision, blobs="blobs" in asked.query)
        name, _, rest = asked.path.removeprefix("/").partition("/resolve/")
        revision, _, path = rest.partition("/")
        return self._content(name, revision, path, asked)

    def _model(self, name: str, revision: str, *, blobs: bool) -> Reply:
        if name in self.renamed:
            there = f"/api/models/{self.renamed[name]}/revision/{revision}?blobs=True"
            return Reply(307, f"Temporary Redirect. Redirecting to {there}".encode(), {"Location": there})
        if name not in self.repositories:
            return Reply(401, _json({"error": "Invalid username or password."}), GONE)
        model = self.repositories[name]
        meant = model.commit if revision == "main" else revision
        sha = next((each for each in (model.commit, *model.older) if each.startswith(meant)), None)
        if sha is None:
            return Reply(404, _json({"error": "Invalid rev id"}), NO_REVISION)
        listed = [self._sibling(path, content, blobs=blobs) for path, content in model.files.items()]
        answer = {"id": name, "modelId": name, "sha": sha, "private": False, "tags": [], "siblings": listed}
        return Reply(body=_json(answer | {"gated": "auto" if model.gated else False}))

    def _sibling(self, path: str, content: bytes, *, blobs: bool) -> Mapping[str, Any]:
        if not blobs:
            return {"rfilename": path}
        size = self.sizes.get(path, len(content))
        listed: dict[str, Any] = {"rfilename": path, "size": size, "blobId": git_hash(content)}
        if path.endswith(".safetensors"):
            digest = hashlib.sha256(content).hexdigest()
            pointer = (
                f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n".encode()
            )
            listed["blobId"] = git_hash(pointer)
            listed["lfs"] = {"sha256": digest, "size": size, "pointerSize": len(pointer)}
        return listed

    def _content(self, name: str, revision: str, path: str, asked: Asked) -> Reply:
        model = self.repositories.get(name)
        if model is None or path not in model.files:
            return Reply(404, headers={"X-Error-Code": "EntryNotFound"})
        if model.gated and "authorization" not in asked.headers:
            return Reply(401, headers=GATED)
        content = model.files[path]
        return Reply(body=content, headers={"X-Repo-Commit": revision, "ETag": f'"{git_hash(content)}"'})


@dataclass
class Registry:
    """A registry that wants a token, as Docker Hub does.

    Attributes:
        url: Its address.
        manifests: `repository:tag` → manifest.
        blobs: Digest → content.
        lies: Whether it names another digest than it sends.
        faults: Path → answers that come first, each once.
    """

    url: str = ""
    manifests: dict[str, bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    lies: bool = False
    faults: dict[str, list[Reply]] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Return the first part of its images' names."""
        return self.url.removeprefix("http://")

    def add_index(self, name: str, *arches: str) -> str:
        """Put an image for several machines behind a tag, and return its digest."""
        listed = [
            {"digest": f"sha256:{'1' * 64}", "platform": {"os": "linux", "architecture": each}}
            for each in arches
        ]
        # Real ones hold such entries too, for the attestations of the others.
        listed.append(
            {"digest": f"sha256:{'2' * 64}", "platform": {"os": "unknown", "architecture": "unknown"}}
        )
        return self._add(name, {"schemaVersion": 2, "manifests": listed})

    def add_image(self, name: str, arch: str) -> str:
        """Put an image for one machine behind a tag, and return its digest."""
        config = _json({"os": "linux", "architecture": arch})
        digest = f"sha256:{hashlib.sha256(config).hexdigest()}"
        self.blobs[digest] = config
        return self._add(name, {"schemaVersion": 2, "config": {"digest": digest}, "layers": []})

    def answer(self, asked: Asked) -> Reply:
        """Answer one request."""
        if self.faults.get(asked.path):
            return self.faults[asked.path].pop(0)
        if asked.path == "/token":
            return Reply(body=_json({"token": asked.query["scope"][0]}))
        name, _, rest = asked.path.removeprefix("/v2/").partition("/manifests/")
        repository = name.partition("/blobs/")[0]
        scope = f"repository:{repository}:pull"
        if asked.headers.get("authorization") != f"Bearer {scope}":
            realm = f'Bearer realm="{self.url}/token",service="registry.test",scope="{scope}"'
            return Reply(401, _json({"errors": [{"code": "UNAUTHORIZED"}]}), {"WWW-Authenticate": realm})
        if "/blobs/" in name:
            return Reply(body=self.blobs[name.partition("/blobs/")[2]])
        content = self.manifests.get(f"{name}:{rest}")
        if content is None:
            return Reply(404, _json({"errors": [{"code": "MANIFEST_UNKNOWN"}]}))
        digest = f"sha256:{hashlib.sha256(content + b' ' * self.lies).hexdigest()}"
        return Reply(body=content, headers={"Docker-Content-Digest": digest})

    def _add(self, name: str, manifest: Mapping[str, Any]) -> str:
        self.manifests[name] = _json(manifest)
        return f"sha256:{hashlib.sha256(self.manifests[name]).hexdigest()}"


def git_hash(content: bytes) -> str:
    """Return the hash of a file in Git."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode()


@contextmanager
def running() -> Iterator[Hub]:
    """Yield a hub that answers on loopback."""
    hub = Hub()
    with served(hub.answer) as hub.url:
        yield hub


@contextmanager
def registry() -> Iterator[Registry]:
    """Yield a registry that answers on loopback."""
    images = Registry()
    with served(images.answer) as images.url:
        yield images

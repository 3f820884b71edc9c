"""A package index with made-up wheels, as PEP 503 and 691 have it; files can be had from any byte on."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.fakes.loopback import Asked, Reply, served

JSON = "application/vnd.pypi.simple.v1+json"


class Index:
    """What the index has, what went wrong with it, and what it was asked for.

    Attributes:
        url: Its address; packages are under `simple/`, or under another root.
        files: Path → content.
        faults: Path → answers that come first, each once.
        asked: Paths that were asked for, in order, with the first byte where that is not 0.
    """

    def __init__(self) -> None:
        self.url = ""
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Reply]] = {}
        self.asked: list[str] = []

    def add(  # noqa: PLR0913 - a wheel has so many parts
        self,
        name: str,
        release: str,
        tags: str = "py3-none-any",
        *,
        needs: Sequence[str] = (),
        root: str = "simple",
        padding: int = 0,
    ) -> str:
        """Put a wheel into the index and return its path."""
        file = f"{name.replace('-', '_')}-{release}-{tags}.whl"
        self.files[f"/{root}/{name}/{file}"] = wheel(name, release, tags, needs, padding)
        return f"/{root}/{name}/{file}"

    def add_source(self, name: str, release: str) -> str:
        """Put a source distribution into the index, which nobody is to build, and return its path."""
        path = f"/simple/{name}/{name}-{release}.tar.gz"
        self.files[path] = b"sources"
        return path

    def sha256(self, path: str) -> str:
        """Return the hash of a file."""
        return hashlib.sha256(self.files[path]).hexdigest()

    def answer(self, asked: Asked) -> Reply:
        """Answer one request."""
        first = int(asked.headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")[0] or 0)
        self.asked.append(f"{asked.path} from {first}" if first else asked.path)
        if self.faults.get(asked.path):
            return self.faults[asked.path].pop(0)
        if asked.path in self.files:
            return _part(self.files[asked.path], asked)
        below = [path for path in self.files if path.startswith(f"{asked.path.rstrip('/')}/")]
        return self._listing(asked.path.rstrip("/"), below) if below else Reply(404)

    def _listing(self, path: str, below: Sequence[str]) -> Reply:
        if not all("/" not in each.removeprefix(f"{path}/") for each in below):
            names = sorted({each.removeprefix(f"{path}/").partition("/")[0] for each in below})
            links = "".join(f'<a href="{name}/">{name}</a>\n' for name in names)
            return Reply(
                body=f"<!DOCTYPE html><html><body>{links}</body></html>".encode(),
                headers={"Content-Type": "text/html"},
            )
        files = [
            {
                "filename": each.rpartition("/")[2],
                "url": each,
                "size": len(self.files[each]),
                "hashes": {"sha256": self.sha256(each)},
            }
            for each in below
        ]
        body = {"meta": {"api-version": "1.1"}, "name": path.rpartition("/")[2], "files": files}
        return Reply(body=json.dumps(body).encode(), headers={"Content-Type": JSON})


def wheel(name: str, release: str, tags: str, needs: Sequence[str] = (), padding: int = 0) -> bytes:
    """Return a made-up wheel, the same at every call."""
    folder = f"{name.replace('-', '_')}-{release}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {release}"]
    metadata += [f"Requires-Dist: {need}" for need in needs]
    root = str(tags.startswith("py3-none-any")).lower()
    contents = {
        f"{name.replace('-', '_')}.py": "#" * padding,
        f"{folder}/METADATA": "\n".join(metadata) + "\n",
        f"{folder}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: {root}\nTag: {tags}\n",
        f"{folder}/RECORD": "",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in contents.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return packed.getvalue()


def _part(content: bytes, asked: Asked) -> Reply:
    headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
    wanted = asked.headers.get("range")
    if wanted is None:
        return Reply(body=content, headers=headers)
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start = int(first) if first else max(0, len(content) - int(last))
    end = min(int(last) + 1, len(content)) if first and last else len(content)
    if start >= len(content):
        return Reply(416, headers={"Content-Range": f"bytes */{len(content)}"})
    span = {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}
    return Reply(206, content[start:end], headers | span)


@contextmanager
def running() -> Iterator[Index]:
    """Yield an index that answers on loopback."""
    index = Index()
    with served(index.answer) as index.url:
        yield index

"""Images in a registry: the digest behind a tag, for every machine that is meant to run it."""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from stacks.errors import Refusal
from tools.lock import web

_HUB: Final = "registry-1.docker.io"
_LOOPBACK: Final = ("localhost", "127.0.0.1")
_ARCHES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
_INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_IMAGES: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)


def digest(repository: str, tag: str, arches: Collection[str]) -> str:
    """Return the digest that a tag has now, `sha256:…`.

    Args:
        repository: As `docker pull` takes it; without a host it is on Docker Hub.
        tag: The tag.
        arches: Machines that must find an image behind it.

    Raises:
        Refusal: The registry does not answer, has no such tag, contradicts itself, or lacks an image.
    """
    registry = _Registry(repository)
    answer = registry.get(f"manifests/{tag}", accept=(*_INDEXES, *_IMAGES))
    found = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
    if answer.headers.get("Docker-Content-Digest", found) != found:
        raise Refusal(
            f"{repository}:{tag}: the registry says {answer.headers['Docker-Content-Digest']} and sends"
            f" {found}; run again, or use a mirror of the image"
        )
    if lacking := sorted(set(arches) - set(registry.arches(answer))):
        raise Refusal(f"{repository}:{tag}: has no image for {', '.join(lacking)}; pin another image or none")
    return found


class _Registry:
    """One repository of a registry that speaks its HTTP API, version 2."""

    def __init__(self, repository: str) -> None:
        host, _, rest = repository.partition("/")
        outside = rest and ("." in host or ":" in host or host == "localhost")
        self._host, self._path = (host, rest) if outside else (_HUB, repository)
        scheme = "http" if self._host.partition(":")[0] in _LOOPBACK else "https"
        self._above = f"{scheme}://{self._host}/v2/{self._path}"
        self._login: dict[str, str] = {}

    def get(self, path: str, accept: tuple[str, ...] = ()) -> web.Answer:
        """Return an answer; the token that a registry asks for is fetched once."""
        url = f"{self._above}/{path}"
        asked = {"Accept": ", ".join(accept)} if accept else {}
        answer = web.get(url, asked | self._login, allowed=() if self._login else (401,))
        if answer.status != 401:  # noqa: PLR2004 - unauthorized
            return answer
        self._login = {"Authorization": f"Bearer {self._token(answer.headers.get('WWW-Authenticate', ''))}"}
        return web.get(url, asked | self._login)

    def arches(self, answer: web.Answer) -> Iterator[str]:
        """Yield the machines that an index, or a single image, is for."""
        manifest = _decoded(self._above, answer.body)
        if "manifests" in manifest:
            for each in manifest["manifests"]:
                yield _arch(each.get("platform", {}))
        else:
            config = self.get(f"blobs/{manifest.get('config', {}).get('digest')}")
            yield _arch(_decoded(self._above, config.body))

    def _token(self, challenge: str) -> str:
        asked = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        if not challenge.startswith("Bearer ") or "realm" not in asked:
            raise Refusal(
                f"{self._above}: needs a login of a kind that is not known here; use a mirror of the image"
            )
        query = urlencode({name: asked[name] for name in ("service", "scope") if name in asked})
        answer = _decoded(asked["realm"], web.get(f"{asked['realm']}?{query}").body)
        return str(answer.get("token") or answer.get("access_token"))


def _decoded(where: str, body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Refusal(f"{where}: the registry did not answer with JSON; look at the network or the proxy")
    return value


def _arch(platform: Mapping[str, Any]) -> str:
    return _ARCHES.get(str(platform.get("architecture")), "another machine")

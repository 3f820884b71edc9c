"""A digest is the hash of what the registry sends, for every machine that the image is meant for."""

from collections.abc import Iterator

import pytest

from stacks.errors import Refusal
from tests.fakes import hub as fakes
from tests.fakes.loopback import Reply
from tools.lock import registry

BOTH = ("x86_64", "aarch64")


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> Iterator[fakes.Registry]:
    """Yield an empty registry."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with fakes.registry() as images:
        yield images


def test_one_digest_holds_for_every_machine(images: fakes.Registry) -> None:
    wanted = images.add_index("vllm/engine:v1.2.3", "amd64", "arm64")
    assert registry.digest(f"{images.host}/vllm/engine", "v1.2.3", BOTH) == wanted


def test_an_image_for_one_machine_is_asked_which(images: fakes.Registry) -> None:
    wanted = images.add_image("vllm/engine:v1.2.3", "amd64")
    assert registry.digest(f"{images.host}/vllm/engine", "v1.2.3", ["x86_64"]) == wanted


@pytest.mark.parametrize("add", [fakes.Registry.add_index, fakes.Registry.add_image])
def test_a_machine_without_an_image_is_named(images: fakes.Registry, add: object) -> None:
    assert callable(add)
    add(images, "vllm/engine:v1.2.3", "amd64")
    with pytest.raises(Refusal, match=r"/vllm/engine:v1\.2\.3: has no image for aarch64; pin another"):
        registry.digest(f"{images.host}/vllm/engine", "v1.2.3", BOTH)


def test_a_registry_that_contradicts_itself_is_refused(images: fakes.Registry) -> None:
    images.add_index("vllm/engine:v1.2.3", "amd64")
    images.lies = True
    with pytest.raises(Refusal, match=r"the registry says sha256:.* and sends sha256:"):
        registry.digest(f"{images.host}/vllm/engine", "v1.2.3", ["x86_64"])


FAILURES = {
    "missing": ("v9", {}, r"manifests/v9: does not exist there \(404\)"),
    "too many": (
        "v1",
        {"/v2/a/b/manifests/v1": Reply(429, headers={"Retry-After": "9"})},
        r"\(429\); wait for 9 s",
    ),
    "no token": ("v1", {"/token": Reply(403)}, r"/token\?.*: needs a login \(403\)"),
    "odd login": (
        "v1",
        {"/v2/a/b/manifests/v1": Reply(401, headers={"WWW-Authenticate": 'Basic realm="x"'})},
        r"needs a login of a kind",
    ),
    "no JSON": ("v1", {"/token": Reply(body=b"<html>")}, r"/token: the registry did not answer with JSON"),
    "cut off": ("v1", {"/token": Reply(body=b'{"token": 1}', cut=3)}, r"broke off after 9 bytes"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_registry_that_fails_is_one_sentence(images: fakes.Registry, case: str) -> None:
    tag, faults, said = FAILURES[case]
    images.add_index("a/b:v1", "amd64")
    images.faults = {path: [reply] for path, reply in faults.items()}
    with pytest.raises(Refusal, match=said) as refused:
        registry.digest(f"{images.host}/a/b", tag, ["x86_64"])
    assert "\n" not in str(refused.value)


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(
        Refusal, match=r"^http://127\.0\.0\.1:9/v2/a/b/manifests/v1: did not answer \(.*refused"
    ):
        registry.digest("127.0.0.1:9/a/b", "v1", ["x86_64"])


def test_a_name_without_a_host_is_on_docker_hub() -> None:
    assert registry._Registry("vllm/vllm-openai")._above == "https://registry-1.docker.io/v2/vllm/vllm-openai"  # noqa: SLF001 - no network here

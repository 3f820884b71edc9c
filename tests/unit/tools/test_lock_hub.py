"""A checkpoint is pinned by what the hub says of it, and by nothing that contradicts itself."""

import hashlib
from collections.abc import Iterator

import pytest

from stacks.errors import Refusal
from tests.fakes import hub as fakes
from tests.fakes.loopback import Reply
from tools.lock import hub

COMMIT, OLDER = "9f" * 20, "24" * 20
NAME = "moon/small"
FILES = {"config.json": b"{}", "model.safetensors": b"weights", "sub/tokenizer.json": b"[1]"}


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[fakes.Hub]:
    """Yield a hub with one model."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with fakes.running() as there:
        monkeypatch.setenv("HF_ENDPOINT", there.url)
        there.repositories[NAME] = fakes.Repository(COMMIT, dict(FILES), older=(OLDER,))
        yield there


def test_every_file_has_size_and_sha256_and_weights_are_not_downloaded(there: fakes.Hub) -> None:
    manifest = hub.pin(NAME)
    assert manifest.revision == COMMIT
    assert {path: (file.size, file.sha256) for path, file in manifest.files.items()} == {
        path: (len(content), hashlib.sha256(content).hexdigest()) for path, content in FILES.items()
    }
    assert [path for path in there.asked if path.endswith(".safetensors")] == []


@pytest.mark.usefixtures("there")
def test_a_revision_that_is_pinned_already_is_the_one_that_is_read() -> None:
    assert hub.pin(NAME, OLDER).revision == OLDER


@pytest.mark.usefixtures("there")
def test_an_abbreviated_commit_is_refused_with_the_full_one() -> None:
    with pytest.raises(
        Refusal, match=r"^moon/small: .* answers with (24){20} for 2424242; write the full commit$"
    ):
        hub.pin(NAME, "2424242")


def test_a_renamed_model_is_refused_with_both_names(there: fakes.Hub) -> None:
    there.renamed["moon/Small"] = NAME
    with pytest.raises(Refusal, match=r"^moon/Small: the hub leads on to moon/small, and another model may"):
        hub.pin("moon/Small")


def test_weights_without_a_hash_are_refused(there: fakes.Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(there, "_sibling", lambda path, *_, **__: {"rfilename": path})
    with pytest.raises(Refusal, match=r"^config\.json of moon/small at 9f.* gives no size or no hash"):
        hub.pin(NAME)


def test_a_file_that_is_not_what_the_hub_lists_is_refused(there: fakes.Hub) -> None:
    path = f"/{NAME}/resolve/{COMMIT}/config.json"
    there.faults[path] = [Reply(body=b"[]")]
    with pytest.raises(
        Refusal, match=r"^config\.json of .*: has 2 bytes with Git hash .*, the hub lists 2 with"
    ):
        hub.pin(NAME)


def test_an_empty_repository_is_refused(there: fakes.Hub) -> None:
    there.repositories[NAME].files.clear()
    with pytest.raises(Refusal, match=r"lists no file"):
        hub.pin(NAME)


API = f"/api/models/{NAME}/revision/main"
CONFIG = f"/{NAME}/resolve/{COMMIT}/config.json"
FAILURES = {
    "gated": (
        CONFIG,
        Reply(403, headers=fakes.GATED),
        r"config\.json of .*: is gated; ask for access .*HF_TOKEN",
    ),
    "gated without login": (CONFIG, Reply(401, headers=fakes.GATED), r"is gated; ask for access"),
    "forbidden": (API, Reply(403), r"needs a login \(403\)"),
    "missing": (
        API,
        Reply(404, headers=fakes.GONE),
        r"has no such repository, or shows it only after a login",
    ),
    "no such revision": (API, Reply(404, headers=fakes.NO_REVISION), r"has no such revision"),
    "file gone": (
        CONFIG,
        Reply(404, headers={"X-Error-Code": "EntryNotFound"}),
        r"does not exist there \(404\)",
    ),
    "too many": (API, Reply(429, headers={"Retry-After": "37"}), r"too many requests \(429\); wait for 37 s"),
    "too many, some day": (
        CONFIG,
        Reply(429, headers={"Retry-After": "Fri, 31 Dec"}),
        r"\(429\); wait, then",
    ),
    "broken": (API, Reply(500), r"answered with 500"),
    "cut off": (
        API,
        Reply(body=b'{"id": "moon/small"}', cut=5),
        r"did not answer \(.+\); look at the network",
    ),
    "file cut off": (CONFIG, Reply(body=b"{}", cut=1), r"did not answer \(.+\); look at the network"),
    "no JSON": (API, Reply(body=b"<html>"), r"did not answer \(.+\); look at the network"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_hub_that_fails_is_one_sentence(there: fakes.Hub, case: str) -> None:
    path, reply, said = FAILURES[case]
    there.faults[path] = [reply]
    with pytest.raises(Refusal, match=said) as refused:
        hub.pin(NAME)
    assert "\n" not in str(refused.value)


def test_a_token_opens_what_is_gated(there: fakes.Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    there.repositories[NAME].gated = True
    with pytest.raises(Refusal, match="is gated"):
        hub.pin(NAME)
    monkeypatch.setenv("HF_TOKEN", "hf_made_up")
    assert hub.pin(NAME).revision == COMMIT


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("name", ["no", "moon/other", "a/b/c", ""])
def test_a_name_without_a_model_is_one_sentence(name: str) -> None:
    with pytest.raises(Refusal, match=r"^[^\n]*$"):
        hub.pin(name)


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(
        Refusal, match=r"^moon/small at main: http://127\.0\.0\.1:9 did not answer \(.*refused"
    ):
        hub.pin(NAME)

"""Checkpoints on the hub: the exact revision, and size and SHA-256 of every file."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from typing import Final

import huggingface_hub
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import ModelInfo, RepoSibling
from huggingface_hub.utils import (  # type: ignore[attr-defined]  # both are documented there
    build_hf_headers,
    hf_raise_for_status,
)

from stacks.catalog.models import Manifest, ManifestFile
from stacks.errors import Refusal
from tools.lock import web

MAIN: Final = "main"


def pin(repository: str, revision: str = MAIN) -> Manifest:
    """Return the exact revision that a repository has, and all of its files.

    Files in Git LFS have their SHA-256 in the hub's list; the others are small, and are downloaded, checked
    against their Git hash and hashed.

    Args:
        repository: `owner/name`; the hub is the one of HF_ENDPOINT.
        revision: A full commit, or the branch whose newest commit is meant.

    Raises:
        Refusal: The hub does not answer, has no such thing, has it under another name, or contradicts itself.
    """
    info = _info(repository, revision)
    commit = _commit(info, repository, revision)
    files = {each.rfilename: _file(repository, commit, each) for each in info.siblings or ()}
    if not files:
        raise Refusal(f"{repository}: the hub lists no file at {commit}; look at the repository")
    return Manifest(revision=commit, files=dict(sorted(files.items())))


def _info(repository: str, revision: str) -> ModelInfo:
    with _told(f"{repository} at {revision}"):
        api = huggingface_hub.HfApi(endpoint=_endpoint())
        return api.model_info(repository, revision=revision, files_metadata=True, timeout=web.SECONDS)


def _commit(info: ModelInfo, repository: str, revision: str) -> str:
    if info.id != repository:
        raise Refusal(
            f"{repository}: the hub leads on to {info.id}, and another model may have the old name; look"
            " which one is meant, then write its name in the catalog"
        )
    if info.sha is None or revision not in {MAIN, info.sha}:
        raise Refusal(f"{repository}: the hub answers with {info.sha} for {revision}; write the full commit")
    return info.sha


def _file(repository: str, commit: str, listed: RepoSibling) -> ManifestFile:
    where = f"{listed.rfilename} of {repository} at {commit}"
    if listed.size is None or not (listed.lfs or listed.blob_id):
        raise Refusal(
            f"{where}: the hub gives no size or no hash; run again, or use another hub (HF_ENDPOINT)"
        )
    if listed.lfs:
        return ManifestFile(size=listed.lfs.size, sha256=listed.lfs.sha256)
    content = _content(repository, commit, listed.rfilename)
    git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if len(content) != listed.size or git != listed.blob_id:
        raise Refusal(
            f"{where}: has {len(content)} bytes with Git hash {git}, the hub lists {listed.size} with"
            f" {listed.blob_id}; run again, or use another hub (HF_ENDPOINT)"
        )
    return ManifestFile(size=len(content), sha256=hashlib.sha256(content).hexdigest())


def _content(repository: str, commit: str, path: str) -> bytes:
    with _told(f"{path} of {repository} at {commit}"):
        url = huggingface_hub.hf_hub_url(repository, path, revision=commit, endpoint=_endpoint())
        headers = build_hf_headers()
        answer = huggingface_hub.get_session().get(url, headers=headers, timeout=web.SECONDS)
        hf_raise_for_status(answer)
        return answer.content


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT") or huggingface_hub.constants.ENDPOINT


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn every way in which the hub fails into one sentence."""
    try:
        yield
    except GatedRepoError as error:
        raise Refusal(f"{what}: is gated; ask for access on its page, then log in (HF_TOKEN)") from error
    except RevisionNotFoundError as error:
        raise Refusal(f"{what}: the repository has no such revision; write another in the catalog") from error
    except RepositoryNotFoundError as error:
        raise Refusal(
            f"{what}: the hub has no such repository, or shows it only after a login (HF_TOKEN); look at"
            " its name"
        ) from error
    except HfHubHTTPError as error:
        status, wait = error.response.status_code, error.response.headers.get("Retry-After")
        raise Refusal(web.refused(what, status, wait)) from error
    except HFValidationError as error:
        raise Refusal(f"{what}: is no name of a repository; write owner/name in the catalog") from error
    # The library lets everything of its client and of JSON through: all of it means that there was no answer.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise Refusal(
            f"{what}: {_endpoint()} did not answer ({reason}); look at the network, HF_ENDPOINT and"
            " HF_HUB_OFFLINE, then run again"
        ) from error

"""One chat completion from an OpenAI-compatible endpoint, as the fleet's users ask for it."""

from __future__ import annotations

import contextlib
import http.client
import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from components.readiness.verdict import Answer
from stacks.errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECT_SECONDS: Final = 5.0
MOST_BYTES: Final = 1 << 20
QUESTION: Final = "Say hello."
TOKENS: Final = 8


def ask(endpoint: str, model: str, key: str, seconds: float) -> Answer:
    """Ask for a completion with the key, and for the list of models without it.

    Args:
        endpoint: Base URL, ending in /v1.
        model: Served name of the model.
        key: API key.
        seconds: How long the completion may take.

    Raises:
        Unreachable: Nothing answered; the sentence says why.
    """
    question = {
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": TOKENS,
        "temperature": 0,
    }
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with _connected(endpoint, seconds) as (line, path):
        line.request("POST", f"{path}/chat/completions", json.dumps(question), headers)
        answer = line.getresponse()
        body = answer.read(MOST_BYTES).decode(errors="replace")
    if answer.status != http.HTTPStatus.OK:
        return Answer(answer.status, body, None)
    return Answer(answer.status, body, _without_key(endpoint))


def _without_key(endpoint: str) -> int:
    with _connected(endpoint, CONNECT_SECONDS) as (line, path):
        line.request("GET", f"{path}/models")
        return line.getresponse().status


@contextlib.contextmanager
def _connected(endpoint: str, seconds: float) -> Iterator[tuple[http.client.HTTPConnection, str]]:
    """Connect; turn every way in which that or what follows fails into one sentence."""
    url = urlsplit(endpoint)
    line = http.client.HTTPConnection(url.hostname or "", url.port, timeout=CONNECT_SECONDS)
    try:
        line.connect()
        line.sock.settimeout(seconds)
        yield line, url.path
    except ConnectionRefusedError:
        raise Unreachable(f"nothing listens at {endpoint}") from None
    except TimeoutError:
        raise Unreachable(f"{endpoint} did not answer within {seconds:.0f} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"{endpoint} broke off: {error or type(error).__name__}") from None
    finally:
        line.close()

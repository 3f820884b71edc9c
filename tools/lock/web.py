"""One request of HTTP, and its failures in one sentence each."""

import contextlib
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPMessage, HTTPResponse
from typing import Final, NamedTuple

from stacks.errors import Refusal

SECONDS: Final = 30.0  # without a byte


class Answer(NamedTuple):
    """An answer that was read to its end."""

    status: int
    headers: HTTPMessage
    body: bytes


def get(url: str, headers: Mapping[str, str] | None = None, *, allowed: tuple[int, ...] = ()) -> Answer:
    """Return the whole answer to GET.

    Args:
        url: What to ask for.
        headers: Sent to this address only, not to another that it redirects to.
        allowed: Statuses of failure that are an answer too.

    Raises:
        Refusal: Nothing answered, the answer broke off, or it is a failure.
    """
    with opened(url, headers, allowed=allowed) as answer:
        return Answer(answer.status, answer.headers, answer.read())


@contextlib.contextmanager
def opened(
    url: str, headers: Mapping[str, str] | None = None, *, allowed: tuple[int, ...] = ()
) -> Iterator[HTTPResponse]:
    """Yield an answer that is yet to be read; see `get`."""
    try:
        opener = urllib.request.build_opener(_Allowing(allowed))
        with opener.open(_request(url, headers or {}), timeout=SECONDS) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        with error:
            raise Refusal(refused(url, error.code, error.headers.get("Retry-After"))) from error
    except http.client.IncompleteRead as error:
        raise Refusal(f"{url}: the answer broke off after {len(error.partial)} bytes; run again") from error
    except (
        urllib.error.URLError,
        ConnectionError,
        TimeoutError,
        ssl.SSLError,
        http.client.HTTPException,
    ) as error:
        reason = getattr(error, "reason", None) or error
        raise Refusal(
            f"{url}: did not answer ({reason}); look at the network or the proxy, then run again"
        ) from error


def refused(what: str, status: int, wait: str | None = None) -> str:
    """Return the sentence about a status of failure.

    Args:
        what: What was asked for.
        status: The status.
        wait: The header Retry-After.
    """
    match status:
        case 401 | 403:
            return f"{what}: needs a login ({status}); log in where it comes from, or use a mirror of it"
        case 404 | 410:
            return f"{what}: does not exist there ({status}); look at its name and release"
        case 429:
            until = f" for {wait} s" if wait and wait.isdecimal() else ""
            return f"{what}: too many requests (429); wait{until}, then run again"
        case _:
            return f"{what}: answered with {status}; wait, then run again"


def _request(url: str, headers: Mapping[str, str]) -> urllib.request.Request:
    if not url.startswith(("https://", "http://")):
        raise Refusal(f"{url}: is no address of the web; write one that starts with https://")
    request = urllib.request.Request(url)  # noqa: S310 - the scheme was looked at above
    for name, value in headers.items():
        request.add_unredirected_header(name, value)
    return request


class _Allowing(urllib.request.HTTPErrorProcessor):
    """Takes some statuses of failure for answers."""

    def __init__(self, allowed: tuple[int, ...]) -> None:
        self._allowed = allowed

    def http_response(self, request: urllib.request.Request, response: HTTPResponse) -> HTTPResponse:
        if response.status in self._allowed:
            return response
        answer: HTTPResponse = super().http_response(request, response)
        return answer

    https_response = http_response

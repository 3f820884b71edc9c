"""One chat completion from an OpenAI-compatible endpoint, as the fleet's users ask for it."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from components.readiness.verdict import RAW, Answer
from stacks.errors import Refusal, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from components.hosts.record import HostRecord

CONNECT_SECONDS: Final = 5.0
MOST_BYTES: Final = 1 << 20
QUESTION: Final = "Say hello."
TOKENS: Final = 8

GATEWAY: Final = "X-Rackstack-Gateway"
"""Header of the answers that the gateway gives itself: one word that says why."""

_SILENT: Final = {
    "engine-not-listening": "nothing listens behind the gateway at {}",
    "engine-silent": "the engine behind the gateway at {} did not answer in time",
}


@dataclass(frozen=True)
class Door:
    """The way to the API.

    Attributes:
        endpoint: Base URL, ending in /v1.
        authority: The only authority whose certificates are trusted, as PEM; empty: those of this machine.
        through: The host through which SSH leads to it; None where it is reached itself.
    """

    endpoint: str
    authority: str = ""
    through: HostRecord | None = None


def ask(door: Door, model: str, key: str, seconds: float) -> Answer:
    """Ask for a completion with the key; then for what must be refused, over the same connection.

    Args:
        door: The way to the API.
        model: Served name of the model.
        key: API key.
        seconds: How long the completion may take.

    Raises:
        Unreachable: Nothing answered; the sentence says why.
        Refusal: What answers cannot be trusted, or has no address, and waiting will not mend it.
    """
    with _connected(door, seconds) as line:
        status, gateway, body = line.answer("POST", "/chat/completions", key, _question(model))
        if gateway in _SILENT:
            raise Unreachable(_SILENT[gateway].format(door.endpoint))
        if status != http.HTTPStatus.OK:
            return Answer(status, body, gateway)
        without_key, _, _ = line.answer("GET", "/models")
        return Answer(status, body, without_key=without_key, leaked=_leaked(line, key))


def _question(model: str) -> dict[str, object]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": TOKENS,
        "temperature": 0,
    }


def _leaked(line: _Line, key: str) -> int | None:
    status, gateway, _ = line.answer("GET", RAW, key, base=False)
    return None if gateway and status == http.HTTPStatus.NOT_FOUND else status


class _Line(http.client.HTTPConnection):
    """One connection through a door; where the server closes it between two requests, it is opened again."""

    def __init__(self, door: Door, seconds: float) -> None:
        self._url = urlsplit(door.endpoint)
        super().__init__(self._url.hostname or "", self._url.port)
        self._door = door
        self._seconds = seconds

    def connect(self) -> None:
        """Open the door."""
        plain = self._reached()
        try:
            if self._url.scheme == "https":
                plain.settimeout(CONNECT_SECONDS)
                plain = _trusting(self._door.authority).wrap_socket(plain, server_hostname=self.host)
            plain.settimeout(self._seconds)
        except BaseException:
            plain.close()
            raise
        self.sock = plain

    def answer(
        self, method: str, path: str, key: str = "", question: object = None, *, base: bool = True
    ) -> tuple[int, str, str]:
        """Return status, the gateway's word and body of the answer; `path` is below the base URL or not."""
        body = None if question is None else json.dumps(question)
        headers = {"Content-Type": "application/json"} if body else {}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self.request(method, f"{self._url.path if base else ''}{path}", body, headers)
        answer = self.getresponse()
        said = answer.read(MOST_BYTES).decode(errors="replace")
        return answer.status, answer.headers.get(GATEWAY, ""), said

    def _reached(self) -> socket.socket:
        if self._door.through is None:
            return socket.create_connection((self.host, self.port), CONNECT_SECONDS)
        from components.hosts import ssh  # noqa: PLC0415 -- paramiko is heavy and a preview needs none of it

        return ssh.tunnel(self._door.through, self.port, CONNECT_SECONDS)


def _trusting(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority) if authority else ssl.create_default_context()


@contextlib.contextmanager
def _connected(door: Door, seconds: float) -> Iterator[_Line]:
    """Connect; turn every way in which that or what follows fails into one sentence."""
    endpoint, line = door.endpoint, _Line(door, seconds)
    try:
        yield line
    except ssl.SSLCertVerificationError as wrong:
        raise Refusal(_untrusted(door, wrong)) from None
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as end:
        raise Unreachable(f"{endpoint} broke off: {end.reason or 'it ended the connection'}") from None
    except ssl.SSLError as wrong:
        raise Refusal(
            f"{endpoint} speaks no TLS that this machine understands ({wrong.reason}): find out what listens "
            f"there, for the gateway does not"
        ) from None
    except socket.gaierror as unknown:
        raise _nameless(door, line.host, unknown) from None
    except ConnectionRefusedError:
        raise Unreachable(f"nothing listens at {endpoint}") from None
    except TimeoutError:
        raise Unreachable(_late(door, seconds if line.sock else None)) from None
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"{endpoint} broke off: {error or type(error).__name__}") from None
    finally:
        line.close()


def _late(door: Door, seconds: float | None) -> str:
    if seconds is not None:
        return f"{door.endpoint} did not answer within {seconds:.0f} s"
    return (
        f"{door.endpoint} did not let this machine connect within {CONNECT_SECONDS:.0f} s: see that it runs, "
        f"and that access.sources holds this machine's address"
    )


def _nameless(door: Door, name: str, unknown: socket.gaierror) -> Refusal | Unreachable:
    if unknown.errno == socket.EAI_AGAIN:
        return Unreachable(f"no name server told this machine the address of {name}")
    return Refusal(
        f"{door.endpoint} cannot be found: {name} has no address here; let its name server, or /etc/hosts of "
        f"this machine, lead to the gateway"
    )


def _untrusted(door: Door, wrong: ssl.SSLCertVerificationError) -> str:
    """Return why a certificate is not trusted, with the way out."""
    shown, rule = f"the certificate at {door.endpoint}", wrong.verify_message.rstrip(".")
    match wrong.verify_code:  # X509_V_ERR_* of OpenSSL, x509_vfy.h
        case 10:
            return f"{shown} has expired: {_another(door)}"
        case 9:
            return f"{shown} is not valid yet: set the clock of this machine or of the one that made it"
        case 62 | 64:
            return f"{shown} is for another name or address ({rule}): {_another(door)}"
    if door.authority:
        return (
            f"{shown} comes from another authority than the fleet's ({rule}): find out what listens there "
            f"before you trust it"
        )
    return (
        f"{shown} comes from an authority that this machine does not know ({rule}): give the chain with it, "
        f"and install the authority here or name its file in SSL_CERT_FILE"
    )


def _another(door: Door) -> str:
    if door.authority:
        return "run `pulumi up`, which makes a new one"
    return "give one that fits (access.tls.certificate)"

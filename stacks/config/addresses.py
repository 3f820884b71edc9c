"""Addresses and URLs of machines that a person lists: what cannot be one is refused in words."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import AfterValidator, AnyHttpUrl, Field, ValidationError

from stacks.places import Location, written

_LABEL: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")
_LONGEST_NAME: Final = 253
_NUMBER: Final = re.compile(r"[0-9]+")
_START: Final = re.compile("https?://[^/]")
_UNTOLD: Final = re.compile("[@?]")
_FORM: Final = "write http://SERVER or http://SERVER:PORT, with a path below if need be"


def unfit(server: str) -> str | None:
    """Return why other machines cannot reach a server by that name or address; None where they may."""
    try:
        return _of_nobody(ipaddress.ip_address(server))
    except ValueError:
        return _no_name(server)


def _of_nobody(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str | None:
    if ip.is_loopback:
        return "is a loopback address, by which every machine reaches itself alone"
    if ip.is_unspecified or ip in ipaddress.ip_network("0.0.0.0/8"):
        return "is an address that stands for none in particular"
    if ip.is_multicast:
        return "is a multicast address, which is a group's"
    if isinstance(ip, ipaddress.IPv4Address) and ip.is_reserved:
        return "is a reserved or broadcast address, which no machine has"
    return None


def _no_name(name: str) -> str | None:
    labels = name.split(".")
    if labels[-1].lower() == "localhost":
        return "is a loopback name, by which every machine reaches itself alone"
    if _NUMBER.fullmatch(labels[-1]):
        return "is no IPv4 address (four numbers up to 255), and no name ends in a number"
    if len(name) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        return "is neither an IPv4 address nor a name of letters, digits, dots and inner hyphens"
    return None


def _address(text: str) -> str:
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        raise ValueError(
            "is no IPv4 address, by which alone the machines of a fleet find each other; write that by "
            "itself, port and user in keys of their own"
        ) from None
    if why := _of_nobody(address):
        raise ValueError(f"{why}; write the one that the machine has in the network of the fleet")
    return str(address)


def _server(text: str) -> str:
    if _is_v6(text):
        raise ValueError(
            "is an IPv6 address, and the way to a jump host is IPv4; write its IPv4 address or name"
        )
    if (why := unfit(text)) and not _is_own(text):
        raise ValueError(f"{why}; write the address or name by which the machine that runs `up` reaches it")
    return text


def _is_own(server: str) -> bool:
    """Return whether it is this machine, where a tunnel to the jump host may end."""
    try:
        return ipaddress.ip_address(server).is_loopback
    except ValueError:
        return server.lower() == "localhost"


def _is_v6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text.strip("[]")).version == 6  # noqa: PLR2004 - the name of that protocol
    except ValueError:
        return False


def _url(text: str) -> str:
    if not _START.match(text):
        raise ValueError(f"does not start with http:// or https:// and a server; {_FORM}")
    try:
        why = _no_base(text, AnyHttpUrl(text))
    except ValidationError as error:
        raise ValueError(f"is no URL ({error.errors()[0]['ctx']['error']}); {_FORM}") from None
    if why:
        raise ValueError(f"{why}; {_FORM}")
    return text


def _no_base(text: str, url: AnyHttpUrl) -> str | None:
    """Return what is wrong with a base URL."""
    server = (url.host or "").strip("[]")
    if "//" in text.partition("://")[2]:
        return "has // behind the server, as where a URL is pasted into another"
    if url.port == 0 or text.partition("://")[2].partition("/")[0].endswith(":"):
        return "has no port from 1 to 65535 behind its colon"
    if "#" in text or " " in text:
        return "has a # or a blank, and paths are put behind it"
    why = unfit(server)
    return f"has the server {server}, which {why}" if why else None


def untold(fleet: object) -> Iterator[tuple[Location, str]]:
    """Yield where and what for a mirror whose URL may hold a secret, in whatever a person wrote."""
    at = ("machines", "mirror")
    mirror = written(fleet, at)
    if isinstance(mirror, list | dict):
        sentence = (
            "the value there (not shown) is no text, and the machines have one mirror; write its base URL, "
            "for example http://10.20.0.2"
        )
        yield at, sentence
    if isinstance(mirror, str) and _UNTOLD.search(mirror):
        sentence = (
            "the value there (not shown) has an @ or a ?, so that a password or token may stand in it, and "
            "the report and the logs show this URL; let the mirror ask for none and have neither in its "
            "paths, and write the URL without"
        )
        yield at, sentence


Address = Annotated[
    str, AfterValidator(_address), Field(description="IPv4 address by which the other machines reach it too")
]
Server = Annotated[str, AfterValidator(_server)]
Url = Annotated[
    str, AfterValidator(_url), Field(json_schema_extra={"pattern": r"^https?://[^\s/?#@]+(/[^\s?#@]*)?$"})
]

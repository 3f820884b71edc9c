"""Who reaches the fleet, and how."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Final

from stacks.catalog.models import Endpoint
from stacks.config import OPERATOR, GivenCertificate
from stacks.planning import placement
from stacks.planning.budget import GPU_START_ALLOWANCE, START_ALLOWANCE
from stacks.planning.design import Design
from stacks.planning.reach import AccessPlan, Limits, PlannedKey, Route

PORT: Final = 8443
"""TCP port of the gateway: below the ephemeral range, and none that an engine has."""

PACKAGES: Final = ("nftables", "nginx")
"""What the firewall and the gateway are made of, on every machine: the gateway may move to another one."""

# A million tokens of text are about 4 MiB. The rest is an assumption that leaves room for what the API takes
# inside a request: pictures in base64, a third larger than their files, and a long history of tool results.
BODY_MIB: Final = 64

# One for a prompt that is read in silence, and one for an answer that is as slow: an assumption, since nobody
# documents how long an answer takes.
_IDLES: Final = 2


def access(design: Design) -> AccessPlan:
    """Return who reaches a fleet, and how."""
    wanted, endpoint = design.config.access, design.model.facts.endpoint
    given = wanted.tls if isinstance(wanted.tls, GivenCertificate) else None
    return AccessPlan(
        host=wanted.gateway or placement.name(design, 0),
        port=PORT,
        tls="given" if isinstance(wanted.tls, GivenCertificate) else wanted.tls,
        certificate=given.certificate if given else None,
        certificate_key=given.key if given else None,
        name=wanted.name,
        sources=collapsed(wanted.sources),
        metrics=collapsed(wanted.metrics),
        operators=collapsed(wanted.operators or ((OPERATOR,) if design.lab else ())),
        keys=tuple(PlannedKey(name=key.name, secret=key.secret, serial=key.serial) for key in wanted.keys),
        routes=tuple(_routes(endpoint)),
        limits=_limits(design),
    )


def collapsed(written: Iterable[str]) -> tuple[str, ...]:
    """Return who is meant, without a network that another holds: a set of nftables takes none twice."""
    listed = tuple(written)
    networks = [ip_network(each) for each in listed if each != OPERATOR]
    old = collapse_addresses(each for each in networks if isinstance(each, IPv4Network))
    new = collapse_addresses(each for each in networks if isinstance(each, IPv6Network))
    return (*((OPERATOR,) if OPERATOR in listed else ()), *map(str, old), *map(str, new))


def within(inner: str, outer: Iterable[str]) -> bool:
    """Return whether a network lies in one of others; where `outer` is collapsed, in all of them together."""
    return any(_holds(ip_network(each), ip_network(inner)) for each in outer if each != OPERATOR)


def open_to_all(networks: Iterable[str]) -> bool:
    """Return whether networks are collapsed to all addresses that there are, of IPv4 or IPv6."""
    return any(ip_network(each).prefixlen == 0 for each in networks if each != OPERATOR)


def people(networks: Iterable[str]) -> str:
    """Return who is meant, in words."""
    named = ("the machine that runs `up`" if each == OPERATOR else each for each in networks)
    return ", ".join(named) or "nobody"


def _holds(outer: IPv4Network | IPv6Network, inner: IPv4Network | IPv6Network) -> bool:
    return outer.prefixlen <= inner.prefixlen and inner.network_address in outer


def _routes(endpoint: Endpoint) -> Iterator[Route]:
    yield Route(method="POST", path="/v1/chat/completions")
    yield Route(method="POST", path="/v1/completions")
    yield from (Route(method="POST", path=path) for path in endpoint.routes)
    yield Route(method="GET", path="/v1/models")
    yield Route(method="GET", path="/health")


def _limits(design: Design) -> Limits:
    """Return limits under which no client is cut off that waits as long as its model's documentation says.

    Nor is the first request, which waits for the engine's compiler.
    """
    start = START_ALLOWANCE if design.lab else GPU_START_ALLOWANCE
    idle = max(design.model.facts.endpoint.timeout, start)
    return Limits(body_mib=BODY_MIB, idle=idle, total=_IDLES * idle)

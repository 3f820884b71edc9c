"""Who reaches the fleet, in words."""

from collections.abc import Iterator

from stacks.planning import FleetPlan
from stacks.planning.access import people
from stacks.planning.naming import duration
from stacks.planning.reach import AccessPlan, PlannedKey
from stacks.report import reached
from stacks.report.words import item

_TLS = {
    "own-ca": "TLS of the stack's own CA",
    "given": "TLS with the given certificate",
    "off": "no TLS",
}


def section(plan: FleetPlan) -> Iterator[str]:
    """Yield who gets to what, with which keys, and what the gateway lets through."""
    access, limits = plan.access, plan.access.limits
    yield "## Access"
    yield from item(gateway(access))
    if access.private:
        yield f"- the way there: `{reached.forwarding(plan)}`"
    yield from item(f"SSH to the machines: {people(access.operators)}; /metrics: {people(access.metrics)}")
    yield from item(f"keys: {', '.join(map(_key, access.keys))}; good for {'; '.join(_routes(access))}")
    yield from item(
        f"limits: {limits.body_mib} MiB a request; {duration(limits.idle)} of silence; "
        f"{duration(limits.total)} a connection, or an answer in a reload"
    )


def gateway(access: AccessPlan) -> str:
    """Return where the gateway is, and who may reach it."""
    reached = "through SSH only" if access.private else f"from {people(access.sources)}"
    return f"gateway on {access.host}, port {access.port}, {_TLS[access.tls]}, reached {reached}"


def _routes(access: AccessPlan) -> Iterator[str]:
    for method in ("POST", "GET"):
        paths = [route.path for route in access.routes if route.method == method]
        yield f"{method} {', '.join(paths)}"


def _key(key: PlannedKey) -> str:
    return f"{key.name} ({'a Pulumi secret' if key.secret else 'generated'})"

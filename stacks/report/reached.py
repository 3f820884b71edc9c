"""How machines that a person lists are reached, what they fetch from, and what stays on them."""

import shlex
from collections.abc import Iterator

from stacks.accounts import Account, place
from stacks.planning import FleetPlan

_SSH = 22


def addresses(plan: FleetPlan) -> dict[str, str]:
    """Return host name → address; its name where nobody has listed the machine yet."""
    return {host.name: host.listed.address if host.listed else host.name for host in plan.hosts}


def sentences(plan: FleetPlan) -> Iterator[str]:
    """Yield what is said of the machines; nothing where the provider makes them."""
    claims = plan.claims
    if claims is None:
        return
    places = [f"{host.name} {place(host.listed)}" for host in plan.hosts if host.listed]
    if places:
        yield f"reached by SSH: {', '.join(places)}{_key(claims.identity)}"
    nics = [f"{host.name} {', '.join(host.nics)}" for host in plan.hosts if host.nics]
    if nics:
        yield f"RDMA devices that alone count: {'; '.join(nics)} (nics of machines.hosts)"
    if claims.jump:
        yield f"through the jump host {place(claims.jump)}{_key(claims.jump.identity)}"
    if claims.mirror:
        yield f"wheels and checkpoint come from {claims.mirror}"
    yield f"`destroy` leaves {' and '.join(claims.keep) or 'nothing'} on them (machines.keep)"


def forwarding(plan: FleetPlan) -> str:
    """Return the shell line that opens a private gateway; a name stands where no machine is listed yet."""
    access, claims = plan.access, plan.claims
    line = f"ssh -N -L {access.port}:127.0.0.1:{access.port}"
    there = next((host.listed for host in plan.hosts if host.name == access.host), None)
    if there is None or claims is None:
        return f"{line} {access.host}"
    jump = claims.jump
    through = f" -o {shlex.quote(_proxy(jump, jump.identity))}" if jump else ""
    return f"{line}{through} {_login(there, claims.identity)}"


def _proxy(jump: Account, identity: str) -> str:
    """Return the option that leads through a jump host; `-J` would not take the key that opens it."""
    return f"ProxyCommand=ssh -W %h:%p {_login(jump, identity)}"


def _login(there: Account, identity: str | None) -> str:
    key = f"-i {_path(identity)} -o IdentitiesOnly=yes " if identity else ""
    port = f"-p {there.port} " if there.port != _SSH else ""
    return f"{key}{port}{there.user}@{there.address}"


def _path(path: str) -> str:
    """Return a path as a word of a shell, which still expands `~/`."""
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") else shlex.quote(path)


def _key(path: str | None) -> str:
    return f", with the key {path}" if path else ""

"""What the real playbooks are run with: the gateway stands on the first host, beside the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr

from components.hosts.playbook import PlaybookInputs
from components.hosts.roles import digests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from components.hosts.record import HostRecord

ENGINE_PORT: Final = 8000
GATEWAY_PORT: Final = 8443
ENGINE_KEY: Final = "rk-only-the-engine-and-the-gateway"


def inputs(
    hosts: Sequence[HostRecord], fleet: str, playbook: str, variables: Mapping[str, Any]
) -> PlaybookInputs:
    """Return the inputs of a playbook without host variables and secrets."""
    return PlaybookInputs(
        fleet=fleet,
        playbook=playbook,
        hosts=list(hosts),
        variables=dict(variables),
        host_variables={},
        secrets={},
        roles=digests(playbook),
        after=[],
    )


def access(
    hosts: Sequence[HostRecord],
    fleet: str,
    keys: Mapping[str, str],
    secrets: Mapping[str, str] | None = None,
    *,
    sources: Sequence[str] = ("operator",),
    **changed: Any,
) -> PlaybookInputs:
    """Return the inputs of `access`, without TLS; private where there are no sources.

    Args:
        hosts: Who takes part, the gateway's host first.
        fleet: Identity of the fleet.
        keys: Name → a client's key.
        secrets: Secret variables beside the keys.
        sources: Who may reach the gateway.
        changed: Variables that are other ones.
    """
    wanted = firewall(hosts, sources) | {
        "gateway_host": hosts[0].name,
        "gateway_port": GATEWAY_PORT,
        "gateway_upstream": f"127.0.0.1:{ENGINE_PORT}",
        "gateway_tls": False,
        "gateway_certificate": "",
        "gateway_routes": [{"method": "GET", "path": "/v1/models"}],
        "gateway_metrics": [],
        "gateway_sources": list(sources),
        "gateway_body_mib": 1,
        "gateway_idle_seconds": 60,
        "gateway_total_seconds": 120,
        "gateway_key_names": list(keys),
    }
    own = guards(hosts)
    own[hosts[0].name]["gateway_listen"] = ["127.0.0.1", *([hosts[0].address] if sources else [])]
    hidden = {
        "gateway_engine_key": ENGINE_KEY,
        **{f"gateway_secret_{name}": key for name, key in keys.items()},
        **(secrets or {}),
    }
    return inputs(hosts, fleet, "access", wanted | changed).model_copy(
        update={
            "host_variables": own,
            "secrets": {name: SecretStr(value) for name, value in hidden.items()},
        }
    )


def firewall(hosts: Sequence[HostRecord], sources: Sequence[str] = ()) -> dict[str, Any]:
    """Return the variables of the role `firewall` that all hosts share."""
    return {
        "firewall_members": [host.address for host in hosts],
        "firewall_operators": ["operator"],
        "firewall_sources": list(sources),
        "firewall_gateway_port": GATEWAY_PORT,
    }


def guards(hosts: Sequence[HostRecord]) -> dict[str, dict[str, Any]]:
    """Return host name → the variables of the role `firewall` that are its own."""
    others = {host.name: {"firewall_is_gateway": False, "firewall_guarded_ports": []} for host in hosts[1:]}
    return {hosts[0].name: {"firewall_is_gateway": True, "firewall_guarded_ports": [ENGINE_PORT]}, **others}

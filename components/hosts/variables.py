"""The variables of each playbook, from the plan and what is known of the site. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from components.hosts import host_stack, storage
from stacks.planning import commands, disks
from stacks.planning.membership import LOOPBACK
from stacks.planning.plan import EngineGroup, FleetPlan

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Site:
    """What is known once there are machines.

    Attributes:
        mirror: Base URL of the site's mirror, which holds `wheels/` and `checkpoints/`.
        addresses: Host name → address that the other members reach.
        certificate: What the gateway shows, as PEM; empty without TLS.
    """

    mirror: str
    addresses: Mapping[str, str]
    certificate: str


def variables(plan: FleetPlan, playbook: str, site: Site) -> dict[str, Any]:
    """Return the variables that all hosts share.

    Args:
        plan: The fleet.
        playbook: `prepare`, `access`, `engine`, `checkpoint` or `serve`.
        site: What is known of its machines.
    """
    mirror = site.mirror.rstrip("/")
    match playbook:
        case "prepare":
            return _prepare(plan)
        case "access":
            return _firewall(plan, site) | _gateway(plan, site)
        case "engine":
            return _engine(plan, mirror)
        case "checkpoint":
            return _checkpoint(plan, mirror)
        case "serve":
            return {"serve_engine_home": plan.engine.home, "serve_checkpoint_home": plan.checkpoint.home}
    raise ValueError(f"there is no playbook {playbook!r}")


def host_variables(
    plan: FleetPlan,
    playbook: str,
    addresses: Mapping[str, str],
    own: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> dict[str, dict[str, Any]]:
    """Return host name → the variables of that host alone; `engine` and `checkpoint` have none.

    Args:
        plan: The fleet.
        playbook: As for `variables`.
        addresses: Host name → address that the other members reach.
        own: Host name → variables of its rank that only the host could tell.
    """
    match playbook:
        case "prepare":
            below, place = host_stack.of_hosts(plan, addresses), storage.of_hosts(plan)
            return {
                host.name: {
                    "prepare_brought": disks.brought(plan, host),
                    **below.get(host.name, {}),
                    **place.get(host.name, {}),
                }
                for host in plan.hosts
            }
        case "access":
            return {host.name: _access(plan, host.name, addresses[host.name]) for host in plan.hosts}
        case "serve":
            return _serve(plan, addresses, own)
    return {}


def _prepare(plan: FleetPlan) -> dict[str, Any]:
    below = host_stack.of_fleet(plan)
    return below | {
        "prepare_packages": [
            *plan.packages,
            *(plan.host_stack.tools if plan.host_stack else ()),
            *storage.packages(plan),
        ],
        "prepare_memory_mib": plan.memory_mib,
        "prepare_keep_checkpoints": _keeps_checkpoint(plan),
    }


def _firewall(plan: FleetPlan, site: Site) -> dict[str, Any]:
    return {
        "firewall_members": [site.addresses[host.name] for host in plan.hosts],
        "firewall_operators": list(plan.access.operators),
        "firewall_sources": list(plan.access.sources),
        "firewall_gateway_port": plan.access.port,
    }


def _gateway(plan: FleetPlan, site: Site) -> dict[str, Any]:
    access, limits = plan.access, plan.access.limits
    return {
        "gateway_host": access.host,
        "gateway_port": access.port,
        "gateway_upstream": f"{_listener(plan, site.addresses)}:{plan.ports.http}",
        "gateway_tls": access.tls != "off",
        "gateway_certificate": site.certificate,
        "gateway_routes": [route.model_dump(mode="json") for route in access.routes],
        "gateway_metrics": list(access.metrics),
        "gateway_sources": list(access.sources),
        "gateway_body_mib": limits.body_mib,
        "gateway_idle_seconds": limits.idle,
        "gateway_total_seconds": limits.total,
        "gateway_key_names": [key.name for key in access.keys],
    }


def _listener(plan: FleetPlan, addresses: Mapping[str, str]) -> str:
    """Return where the rank that serves the API listens, as its command says."""
    [argv] = [command.argv for command in commands(plan, addresses) if command.host == plan.head.host]
    return argv[argv.index("--host") + 1]


def _access(plan: FleetPlan, host: str, address: str) -> dict[str, Any]:
    if host != plan.access.host:
        return {"firewall_is_gateway": False, "firewall_guarded_ports": []}
    return {
        "firewall_is_gateway": True,
        "firewall_guarded_ports": [plan.ports.http] if host == plan.head.host else [],
        "gateway_listen": [LOOPBACK] if plan.access.private else [LOOPBACK, address],
    }


def _engine(plan: FleetPlan, mirror: str) -> dict[str, Any]:
    if plan.engine.lock is None:
        raise ValueError(f"{plan.stack}: a plan without a lock of its engine is no plan to carry out")
    return {
        "engine_name": plan.engine.name,
        "engine_release": plan.engine.release,
        "engine_home": plan.engine.home,
        "engine_lock": str(ROOT / plan.engine.lock),
        "engine_lock_digest": plan.engine.lock_digest,
        "engine_wheels_url": f"{mirror}/wheels/",
    }


def _checkpoint(plan: FleetPlan, mirror: str) -> dict[str, Any]:
    checkpoint = plan.checkpoint
    return {
        "checkpoint_home": checkpoint.home,
        "checkpoint_url": f"{mirror}/checkpoints/{checkpoint.name}/{checkpoint.revision}/",
        "checkpoint_files": [
            {"path": path, "size": size, "sha256": digest}
            for path, (size, digest) in sorted(checkpoint.files.items())
        ],
        "checkpoint_least_read": int(plan.budget.read),
        "checkpoint_keep": _keeps_checkpoint(plan),
    }


def _keeps_checkpoint(plan: FleetPlan) -> bool:
    return plan.claims is not None and "checkpoint" in plan.claims.keep


def _serve(
    plan: FleetPlan, addresses: Mapping[str, str], own: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, Any]]:
    groups = {group.name: group for group in plan.groups}
    return {
        command.host: {
            "serve_rank": command.rank,
            "serve_argv": list(command.argv),
            "serve_env": dict(command.env),
            "serve_ports": _ports(groups[command.group], command.rank),
        }
        for command in commands(plan, addresses, own)
    }


def _ports(group: EngineGroup, rank: int) -> list[int]:
    ports = group.ports
    return [ports.http, ports.rendezvous, ports.internal] if rank == group.head.rank else [ports.internal]

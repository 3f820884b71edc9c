"""The variables of each playbook, from the plan and the addresses. Pure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stacks.planning import commands
from stacks.planning.plan import EngineGroup, FleetPlan

ROOT = Path(__file__).resolve().parents[2]


def variables(plan: FleetPlan, playbook: str, mirror_url: str) -> dict[str, Any]:
    """Return the variables that all hosts share.

    Args:
        plan: The fleet.
        playbook: `prepare`, `engine`, `checkpoint` or `serve`.
        mirror_url: Base URL of the site's mirror, which holds `wheels/` and `checkpoints/`.
    """
    mirror = mirror_url.rstrip("/")
    match playbook:
        case "prepare":
            return _prepare(plan)
        case "engine":
            return _engine(plan, mirror)
        case "checkpoint":
            return _checkpoint(plan, mirror)
        case "serve":
            return {"serve_engine_home": plan.engine.home, "serve_checkpoint_home": plan.checkpoint.home}
    raise ValueError(f"there is no playbook {playbook!r}")


def host_variables(plan: FleetPlan, playbook: str, addresses: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return host name → the variables of that host alone; only `serve` has some.

    Args:
        plan: The fleet.
        playbook: As for `variables`.
        addresses: Host name → address that the other members reach.
    """
    if playbook != "serve":
        return {}
    groups = {group.name: group for group in plan.groups}
    return {
        command.host: {
            "serve_rank": command.rank,
            "serve_argv": list(command.argv),
            "serve_env": dict(command.env),
            "serve_ports": _ports(groups[command.group], command.rank),
        }
        for command in commands(plan, addresses)
    }


def _prepare(plan: FleetPlan) -> dict[str, Any]:
    return {
        "prepare_packages": list(plan.packages),
        # Hosts are alike; in the lab, where alone their memory is looked at, each carries one rank.
        "prepare_memory_mib": -(-plan.groups[0].memory.needed // 2**20),
        "prepare_disk_mib": plan.disk_mib,
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
    }


def _ports(group: EngineGroup, rank: int) -> list[int]:
    ports = group.ports
    return [ports.http, ports.rendezvous, ports.internal] if rank == group.head.rank else [ports.internal]

"""The exact command and environment of every rank."""

from collections.abc import Mapping

from stacks.planning.plan import FleetPlan, Rank
from stacks.values import Value

# The interface of every lab host that reaches the other members.
INTERFACE = "eth0"


class RankCommand(Value):
    """How one rank is started.

    Attributes:
        rank: Node rank; 0 is the head.
        host: Name of its host.
        argv: Program and arguments, never through a shell.
        env: Environment without secrets; the API key reaches the head through a file.
    """

    rank: int
    host: str
    argv: tuple[str, ...]
    env: Mapping[str, str]


def commands(plan: FleetPlan, addresses: Mapping[str, str]) -> tuple[RankCommand, ...]:
    """Return the commands of all ranks, in rank order. Pure.

    Args:
        plan: The fleet.
        addresses: Host name → address that the other members reach; a preview passes the names themselves.
    """
    return tuple(
        RankCommand(
            rank=rank.rank, host=rank.host, argv=_argv(plan, rank, addresses), env=_env(plan, rank, addresses)
        )
        for rank in plan.ranks
    )


def _argv(plan: FleetPlan, rank: Rank, addresses: Mapping[str, str]) -> tuple[str, ...]:
    return (
        f"{plan.engine.home}/bin/vllm",
        "serve",
        plan.checkpoint.home,
        *_listener(plan, rank, addresses),
        *("--served-model-name", plan.served_name),
        *("--max-model-len", str(plan.context)),
        # Compiling whole graphs takes minutes on CPU and gains nothing at this size.
        "--enforce-eager",
        *("--tensor-parallel-size", str(plan.tensor_parallel)),
        *_membership(plan, rank, addresses),
    )


def _listener(plan: FleetPlan, rank: Rank, addresses: Mapping[str, str]) -> tuple[str, ...]:
    if rank != plan.head:
        return ("--headless",)
    return ("--host", addresses[rank.host], "--port", str(plan.ports.http))


def _membership(plan: FleetPlan, rank: Rank, addresses: Mapping[str, str]) -> tuple[str, ...]:
    if len(plan.ranks) == 1:
        return ()
    return (
        *("--nnodes", str(len(plan.ranks))),
        *("--node-rank", str(rank.rank)),
        *("--master-addr", addresses[plan.head.host]),
        *("--master-port", str(plan.ports.rendezvous)),
    )


def _env(plan: FleetPlan, rank: Rank, addresses: Mapping[str, str]) -> dict[str, str]:
    return {
        "DO_NOT_TRACK": "1",
        "GLOO_SOCKET_IFNAME": INTERFACE,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_KVCACHE_SPACE": str(plan.kv_cache_gib),
        "VLLM_CPU_OMP_THREADS_BIND": str(rank.core),
        "VLLM_HOST_IP": addresses[rank.host],
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_PORT": str(plan.ports.internal),
    }

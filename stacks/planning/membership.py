"""What tells a rank its place: the listener, the split, where its peers are. Each with its reason."""

from collections.abc import Iterator, Mapping
from typing import Final

from stacks.config import Setting
from stacks.lab import INTERFACE
from stacks.planning.plan import EngineGroup, FleetPlan, Rank
from stacks.planning.reasons import Option

LOOPBACK: Final = "127.0.0.1"
"""Where the engine listens on the machine that also has the gateway."""

_ARGUMENTS = "vLLM 0.33.0, vllm/engine/arg_utils.py"
_PARALLEL = "vLLM 0.33.0, vllm/config/parallel.py"
_SERVE = "vLLM 0.33.0, vllm/entrypoints/cli/serve.py"
_VARIABLES = "vLLM 0.33.0, vllm/envs.py"
_LAYOUT = "layout"
_PORTS = "the plan's fixed ports"

_REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "host": (
        "only the gateway reaches the server: by loopback beside it, else by its member address",
        _SERVE,
    ),
    "port": ("the fixed port of the API", _PORTS),
    "headless": ("only ranks that serve the API listen; this one works for the head", _SERVE),
    "served-model-name": ("clients name the model, not the folder that it is read from", _SERVE),
    "tensor-parallel-size": ("ranks that hold each layer together", _LAYOUT),
    "pipeline-parallel-size": ("stages of layers", _LAYOUT),
    "decode-context-parallel-size": ("ranks that share out the KV cache of a request", _LAYOUT),
    "enable-expert-parallel": ("whole experts are spread over the ranks", _LAYOUT),
    "nnodes": ("the ranks of one replica stand on several machines", _PARALLEL),
    "node-rank": ("which of those machines this one is", _PARALLEL),
    "master-addr": ("where the machines meet: the head", _PARALLEL),
    "master-port": ("the fixed port where they meet", _PORTS),
    "data-parallel-size": ("ranks with requests of their own", _LAYOUT),
    "data-parallel-size-local": ("how many of those stand on this machine", _ARGUMENTS),
    "data-parallel-address": ("where data parallel ranks meet: the head", _ARGUMENTS),
    "data-parallel-rpc-port": ("the fixed port where they meet", _PORTS),
    "data-parallel-start-rank": ("the first data parallel rank of this machine", _ARGUMENTS),
    "GLOO_SOCKET_IFNAME": ("the interface that reaches the other members", _VARIABLES),
    "VLLM_CPU_OMP_THREADS_BIND": ("ranks on one machine share no core", _VARIABLES),
    "VLLM_HOST_IP": ("the address that the other members reach; without it the engine guesses", _VARIABLES),
    "VLLM_NIXL_SIDE_CHANNEL_HOST": (
        "where the other engine asks for the cache; localhost otherwise",
        _VARIABLES,
    ),
    "VLLM_NIXL_SIDE_CHANNEL_PORT": ("the fixed port where it asks", _PORTS),
    "VLLM_PORT": ("the first of the ports that the engine picks inside a machine", _PORTS),
}
OWN: Final = frozenset(_REASONS)
"""Options and variables that are written for each rank."""


def flags(
    plan: FleetPlan, group: EngineGroup, rank: Rank, addresses: Mapping[str, str]
) -> tuple[Option, ...]:
    """Return the options by which a rank knows its place."""
    found = {**_listener(plan, group, rank, addresses), **_split(group), **_peers(group, rank, addresses)}
    return tuple(_option(name, value) for name, value in found.items())


def env(plan: FleetPlan, group: EngineGroup, rank: Rank, addresses: Mapping[str, str]) -> tuple[Option, ...]:
    """Return the variables by which a rank knows its place."""
    found = dict(_variables(plan, group, rank, addresses[rank.host]))
    return tuple(_option(name, value) for name, value in found.items())


def _option(name: str, value: Setting) -> Option:
    why, source = _REASONS[name]
    return Option(name=name, value=value, why=why, source=source, origin="planner")


def _listener(
    plan: FleetPlan, group: EngineGroup, rank: Rank, addresses: Mapping[str, str]
) -> dict[str, Setting]:
    beside = rank.host == plan.access.host and len(plan.groups) == 1
    listens: dict[str, Setting] = {
        "host": LOOPBACK if beside else addresses[rank.host],
        "port": group.ports.http,
    }
    return {**(listens if rank.serves else {"headless": True}), "served-model-name": plan.served_name}


def _split(group: EngineGroup) -> dict[str, Setting]:
    parallel = group.parallel
    sizes = {
        "pipeline-parallel-size": parallel.pipeline_parallel,
        "decode-context-parallel-size": parallel.decode_context_parallel,
    }
    return {
        **({"enable-expert-parallel": True} if parallel.expert_parallel else {}),
        **{name: size for name, size in sizes.items() if size > 1},
        "tensor-parallel-size": parallel.tensor_parallel,
    }


def _peers(group: EngineGroup, rank: Rank, addresses: Mapping[str, str]) -> dict[str, Setting]:
    return {
        **(_nodes(group, rank, addresses) if _spans_machines(group) else {}),
        **(_data_parallel(group, rank, addresses) if group.parallel.data_parallel > 1 else {}),
    }


def _spans_machines(group: EngineGroup) -> bool:
    """Return whether one replica of the model stands on several machines."""
    replica = group.parallel.tensor_parallel * group.parallel.pipeline_parallel
    return len(group.ranks) > 1 and len(group.head.seats) < replica


def _nodes(group: EngineGroup, rank: Rank, addresses: Mapping[str, str]) -> dict[str, Setting]:
    return {
        "nnodes": len(group.ranks),
        "node-rank": rank.rank,
        "master-addr": addresses[group.head.host],
        "master-port": group.ports.rendezvous,
    }


def _data_parallel(group: EngineGroup, rank: Rank, addresses: Mapping[str, str]) -> dict[str, Setting]:
    size: dict[str, Setting] = {"data-parallel-size": group.parallel.data_parallel}
    if len(group.ranks) == 1:
        return size
    meet: dict[str, Setting] = {
        "data-parallel-address": addresses[group.head.host],
        "data-parallel-rpc-port": group.ports.data_parallel,
    }
    # Over machines the engine works out from the node's rank which replicas are here.
    if _spans_machines(group):
        return size | meet
    replicas = {seat.data for seat in rank.seats}
    start: dict[str, Setting] = {"data-parallel-start-rank": min(replicas)} if rank != group.head else {}
    return size | {"data-parallel-size-local": len(replicas)} | meet | start


def _variables(plan: FleetPlan, group: EngineGroup, rank: Rank, address: str) -> Iterator[tuple[str, str]]:
    yield "VLLM_HOST_IP", address
    yield "VLLM_PORT", str(group.ports.internal)
    if group.ports.side_channel is not None:
        yield "VLLM_NIXL_SIDE_CHANNEL_HOST", address
        yield "VLLM_NIXL_SIDE_CHANNEL_PORT", str(group.ports.side_channel)
    if plan.provider == "lab":
        yield "GLOO_SOCKET_IFNAME", INTERFACE
        yield "VLLM_CPU_OMP_THREADS_BIND", str(rank.core)

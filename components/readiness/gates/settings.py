"""The settings of the ranks that follow from what was seen, and what the stack pinned against it. Pure.

The plan decides by the fabric that the stack names; this confirms it by the fabric that is there. The case to
remember is vllm#51986: an all-reduce for NVLink domains, chosen where only RDMA joined the machines, hung.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from components.readiness.gates.refused import Check, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.imex import Domain
    from components.readiness.gates.routing import Route
    from components.readiness.gates.sight import Nic
    from components.readiness.gates.smi import Smi
    from components.readiness.gates.wants import Engine, Wants
    from stacks.catalog.hardware import Fabric

_FABRICS: Final = "stacks/catalog/fabrics; https://github.com/vllm-project/vllm/issues/51986"
PINNED: Final = Check(
    "settings-as-seen",
    "the settings that follow from the fabric that is there",
    ("the stack pins another value by hand: drop it from flags: or env:",),
    _FABRICS,
)
NO_DOMAIN: Final = Check(
    "settings-without-domain",
    "the settings that follow from the fabric that is there",
    (
        (
            "the NVLink domain that the stack names is not whole: mend what the refusals of fabric and IMEX "
            "name, and this one goes with them"
        ),
        "no NVLink domain joins these machines: write `fabric: rdma`, and the plan derives other settings",
    ),
    _FABRICS,
)
INTERFACE: Final = Check(
    "settings-interface",
    "the one interface that reaches the other members",
    (
        "the stack pins an interface for all hosts, and this host names its own otherwise: drop it from env:",
        "the route leaves by the wrong interface: see route-from-member-address",
    ),
    (
        "github.com/aws-samples/aws-do-eks, pull requests 50, 51 and 69; "
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
    ),
)

CHECKS: Final = (PINNED, NO_DOMAIN, INTERFACE)

Kind = Literal["nvlink", "rdma"]
_ANY: Final = "all"
"""UCX's own word for every device, which documented layouts use: it names no wrong one."""


def joined_by(engine: Engine, smi: Mapping[str, Smi], imex: Mapping[str, Domain]) -> Kind:
    """Return what was seen to join the hosts of an engine: nvlink only where one working domain spans all."""
    gpus = [gpu for host in engine.hosts if host in smi for gpu in smi[host].gpus]
    places = {(gpu.fabric.clique, gpu.fabric.cluster) for gpu in gpus}
    registered = all((gpu.fabric.state, gpu.fabric.status) == ("Completed", "Success") for gpu in gpus)
    placed = all(gpu.fabric.placed for gpu in gpus)
    up = all(host in imex and imex[host].status == "UP" for host in engine.hosts)
    return "nvlink" if gpus and registered and len(places) == 1 and placed and up else "rdma"


def environment(
    wants: Wants,
    routes: Mapping[str, Route],
    nics: Mapping[str, Mapping[str, Nic]],
    used: Mapping[str, frozenset[str]],
) -> dict[str, dict[str, str]]:
    """Return host name → the variables that only the host itself can tell.

    Args:
        wants: What the plan wants.
        routes: Host name → its route to its peers.
        nics: Host name → its RDMA devices.
        used: Host name → those that GPUs use.
    """
    return {
        host: _sockets(route)
        | _adapters(wants, host)
        | (_devices(wants, route, nics[host], used[host]) if _transfers(wants, host) else {})
        for host, route in routes.items()
    }


def interfaces(engine: Engine, derived: Mapping[str, Mapping[str, str]]) -> Iterator[Refused]:
    """Yield every interface that the stack pins and that is not the host's own.

    Args:
        engine: Whose variables.
        derived: Host name → what `environment` derived.
    """
    for host in engine.hosts:
        for name, value in derived.get(host, {}).items():
            pinned = engine.env.get(name, _ANY)
            if pinned != _ANY and pinned.removeprefix("=") != value.removeprefix("="):
                yield Refused(
                    INTERFACE, (host,), f"{name} is {pinned!r} in the stack", f"{value!r} as the route says"
                )


def contradictions(
    engine: Engine, named: Kind, seen: Kind, fabrics: Mapping[str, Fabric]
) -> Iterator[Refused]:
    """Yield every setting that the fabric which is there rules out; nothing for an engine on one host.

    Args:
        engine: Its settings as planned.
        named: What the stack says joins its hosts.
        seen: What joins them.
        fabrics: The catalog's fabrics by name.
    """
    if len(engine.hosts) == 1:
        return
    check = PINNED if seen == named else NO_DOMAIN
    hosts, facts = tuple(engine.hosts), fabrics[seen]
    there = f"{'one' if seen == 'nvlink' else 'no working'} NVLink domain joins {', '.join(hosts)}"
    for name, wanted in _derived(engine, facts).items():
        if (planned := _setting(engine, name)) not in {None, wanted}:
            yield Refused(check, hosts, f"{name} is {planned}", f"{wanted}, for {there}")
    for pair, why in facts.refused.items():
        name, _, value = pair.partition("=")
        if _setting(engine, name) == value:
            yield Refused(check, hosts, f"{name} is {value}", f"another value, for {there} and {why}")


def _sockets(route: Route) -> dict[str, str]:
    # NCCL takes a prefix unless it starts with `=`; Gloo takes a name and nothing else.
    return {"GLOO_SOCKET_IFNAME": route.interface, "NCCL_SOCKET_IFNAME": f"={route.interface}"}


def _adapters(wants: Wants, host: str) -> dict[str, str]:
    """Return what NCCL may use of a host's RDMA devices, where the stack says it; it takes the near ones."""
    nics = wants.nics.get(host, []) if wants.fabric == "rdma" else []
    return {"NCCL_IB_HCA": f"={','.join(nics)}"} if nics else {}


def _devices(wants: Wants, route: Route, nics: Mapping[str, Nic], used: frozenset[str]) -> dict[str, str]:
    """Return what UCX may use, for NIXL reads no NCCL variable: over RDMA the ports near GPUs."""
    ports = [f"{name}:{number}" for name in sorted(used & set(nics)) for number in sorted(nics[name].ports)]
    return {"UCX_NET_DEVICES": ",".join(ports) if wants.fabric == "rdma" and ports else route.interface}


def _transfers(wants: Wants, host: str) -> bool:
    return any(engine.transfers and host in engine.hosts for engine in wants.engines)


def _derived(engine: Engine, facts: Fabric) -> dict[str, str]:
    """Return name of an option or variable (`a.b.c` inside a mapping) → value that the fabric asks for."""
    found = {name: _shown(each.value) for name, each in facts.env.items()}
    if engine.spans:
        found |= {name: _shown(each.value) for name, each in facts.tensor_env.items()}
        for name, each in facts.tensor_flags.items():
            found |= dict(_leaves(name, each.value))
    return found


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(f"{name}.{key}", each)
    else:
        yield name, _shown(value)


def _setting(engine: Engine, name: str) -> str | None:
    """Return a planned value in words; None where there is none."""
    found: Any = engine.env | engine.flags
    for key in name.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return None if found is None else _shown(found)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

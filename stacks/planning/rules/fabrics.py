"""Whether what joins the GPUs can carry what the split sends over it."""

from collections.abc import Iterator, Sequence

from stacks.catalog.figures import address
from stacks.planning import placement
from stacks.planning.design import Design, GroupDesign
from stacks.planning.layers import KINDS
from stacks.planning.naming import spelled, titled
from stacks.planning.rules.effective import effective, setting
from stacks.planning.rules.engines import held
from stacks.planning.rules.known import is_choice
from stacks.planning.rules.rule import Finding, Rule, either
from stacks.planning.sized import Sized

_NETWORKS = ("rdma", "ethernet")
_FEW = 4
"""Machines that a sentence names before it counts the rest."""
_ALL_TO_ALL = "all2all-backend"
_PORTABLE = "allgather_reducescatter"
"""The engine's own choice, which works on every fabric."""
_FLASHINFER = "VLLM_ALLREDUCE_USE_FLASHINFER"
_IB_OFF = "NCCL_IB_DISABLE"
_P2P_OFF = "NCCL_P2P_DISABLE"


def _joins_the_machines(design: Design, _: Sized) -> Iterator[Finding]:
    if design.fabric_name not in design.machine.fabrics:
        yield Finding(
            "fabric",
            design.fabric_name,
            f"does not join machines of this type ({design.machine.title})",
            f"write {either(list(design.machine.fabrics))}",
        )


def _inside_one_domain(design: Design, _: Sized) -> Iterator[Finding]:
    domain, gpus = design.machine.domain, design.machine.gpus
    if design.fabric.kind in _NETWORKS or design.count * gpus <= domain:
        return
    network = _network(design)
    for group in design.groups:
        parallel = group.parallel
        if parallel.gpus > domain:
            tensor = parallel.tensor_parallel
            what = f"one tensor parallel group of {tensor}" if tensor > domain else f"{parallel.gpus} GPUs"
            yield Finding(
                "fabric",
                design.fabric_name,
                f"cannot join {what}: {design.machine.title} has {domain} GPUs in one domain",
                " or ".join(filter(None, (network and f"write {network},", _smaller(domain)))),
            )
    if all(group.parallel.gpus <= domain for group in design.groups):
        yield Finding(
            "fabric",
            design.fabric_name,
            f"cannot join {design.count} {design.machine.unit}s of {gpus} GPUs: {design.machine.title} "
            f"has {domain} "
            "GPUs in one domain",
            " or ".join(filter(None, (network and f"write {network},", f"{_smaller(domain)} in all"))),
        )


def _network(design: Design) -> str:
    """Return the layouts that are documented over a network here, to be written; empty where none is."""
    known: dict[str, list[str]] = {}
    for each in design.model.facts.layouts:
        if design.checkpoint_name in each.checkpoints and design.machine.accelerator in each.accelerators:
            for name in set(each.fabrics) & set(design.machine.fabrics) & set(_NETWORKS):
                known.setdefault(name, []).append(titled(each.title))
    return " or ".join(
        f"fabric: {name}, over which {either(titles)} is documented" for name, titles in sorted(known.items())
    )


def _smaller(gpus: int) -> str:
    return f"take a layout of at most {gpus} GPUs"


def _trays_of_one_place(design: Design, _: Sized) -> Iterator[Finding]:
    """Compare what the owner says of the places of trays that the plan takes for one NVLink domain."""
    per_domain = design.machine.domain // design.machine.gpus
    if design.fabric.kind in _NETWORKS or per_domain < 2:  # noqa: PLR2004 -- a domain of one tray
        return
    for first in range(0, design.count, per_domain):
        for key in ("clique", "rack"):
            yield from _apart(design, first, min(first + per_domain, design.count), key)


def _apart(design: Design, first: int, end: int, key: str) -> Iterator[Finding]:
    """Yield the first two trays of a domain, both said where they stand, that differ."""
    said = [(index, value) for index, value in _stand(design, key) if first <= index < end]
    for index, value in said:
        if value != said[0][1]:
            here, there = placement.name(design, index), placement.name(design, said[0][0])
            yield Finding(
                f"machines.hosts[{index}].place.{key}",
                f"{value} of {here}",
                f"is not the {key} {said[0][1]} of {there}, and the plan has both in one NVLink domain",
                _together(design, end - first, key),
            )
            return


def _stand(design: Design, key: str) -> Iterator[tuple[int, object]]:
    """Yield index and place of each listed machine whose owner says where it stands."""
    for index, host in enumerate(design.listed):
        value = getattr(host.place, key) if host.place else None
        if value is not None:
            yield index, value


def _together(design: Design, count: int, key: str) -> str:
    """Return which machines can be one domain, and what is documented where none can."""
    places: dict[object, list[str]] = {}
    for index, value in _stand(design, key):
        places.setdefault(value, []).append(placement.name(design, index))
    fit = {value: names[:count] for value, names in places.items() if len(names) >= count}
    shown = either([f"{_few(names)} ({key} {value})" for value, names in (fit or places).items()])
    network = _network(design)
    otherwise = f", or write {network}" if network else ""
    if fit:
        return f"take machines of one {key}: {shown}{otherwise}"
    return f"take {count} machines of one {key}, of which too few are listed: {shown}{otherwise}"


def _few(names: Sequence[str]) -> str:
    *most, last = names if len(names) <= _FEW else [*names[:_FEW], f"{len(names) - _FEW} more"]
    return f"{', '.join(most)} and {last}" if most else last


def _carries_the_options(design: Design, _: Sized) -> Iterator[Finding]:
    """Compare options of engines that span machines with what cannot work on the fabric between those."""
    for group in design.groups:
        for kind in KINDS if group.machines > 1 else ():
            for name, option in effective(design, group, kind).items():
                if why := _unfit(design, name, spelled(option.value)):
                    yield Finding(
                        f"{kind}.{name}",
                        spelled(option.value),
                        f"is not for {design.fabric.title}: {why}",
                        _instead(design, name),
                    )


def _unfit(design: Design, name: str, value: str) -> str | None:
    """Return why a value cannot work across the fabric; None where it can."""
    if why := design.fabric.refused.get(f"{name}={value}"):
        return why
    known = {*design.fabric.all_to_all, _PORTABLE}
    settled = design.config.accept_undocumented or not is_choice(design, name, value)
    if name == _ALL_TO_ALL and value not in known and not settled:
        return f"there, {either(sorted(known))} are documented"
    return None


def _instead(design: Design, name: str) -> str:
    if name == _ALL_TO_ALL:
        backends = (*design.fabric.all_to_all, _PORTABLE)
        return f"write {either([each for each in backends if held(design, name, each)])}"
    return "leave it out, or take a layout inside one machine"


def _reduces_over_the_network(design: Design, _: Sized) -> Iterator[Finding]:
    for group in design.groups:
        crosses = group.machines > 1 and group.parallel.tensor_parallel > design.machine.gpus
        if crosses and design.fabric.kind == "rdma" and design.family.vendor == "nvidia":
            yield from _reduces(design, group)


def _reduces(design: Design, group: GroupDesign) -> Iterator[Finding]:
    flags, env = effective(design, group, "flags"), effective(design, group, "env")
    compilation = flags.get("compilation-config")
    if setting(flags, "compilation-config", "pass_config", "fuse_allreduce_rms") is not False:
        yield Finding(
            "flags.compilation-config",
            spelled(compilation.value if compilation else None),
            f"leaves FlashInfer's fused all-reduce on for a tensor parallel group across "
            f"{design.fabric.title}, where "
            "it waits for an NVLink domain that is not there",
            "write compilation-config: {pass_config: {fuse_allreduce_rms: false}}",
        )
    if setting(env, _FLASHINFER) != "0":
        yield Finding(
            f"env.{_FLASHINFER}",
            setting(env, _FLASHINFER) or "unset",
            f"lets FlashInfer take MNNVL for a tensor parallel group across {design.fabric.title}, where "
            "it hangs",
            f'write {_FLASHINFER}: "0"',
            "https://github.com/vllm-project/vllm/issues/45800",
        )


def _keeps_what_the_fabric_asks(design: Design, _: Sized) -> Iterator[Finding]:
    """Compare variables set by hand with those that the fabric between an engine's machines needs."""
    for name, wanted in design.fabric.env.items() if _crosses(design) else ():
        by_hand = design.config.env.get(name)
        if by_hand not in {None, str(wanted.value)}:
            yield Finding(
                f"env.{name}",
                by_hand,
                f"stands against {wanted.value}, which {design.fabric.title} between the machines asks for: "
                f"{wanted.why}",
                "drop it",
                address(design.fabric.sources, wanted.source),
            )


def _goes_by_rdma(design: Design, _: Sized) -> Iterator[Finding]:
    off = design.config.env.get(_IB_OFF, "0")
    if off != "0" and design.fabric.kind == "rdma" and _crosses(design) and not goes_by_tcp(design):
        yield Finding(
            f"env.{_IB_OFF}",
            off,
            f"leaves nothing but TCP between the machines, and the stack has {design.fabric.title} join them",
            "drop it, or write NCCL_NET: Socket where TCP is what is wanted",
        )


def _goes_by_nvlink(design: Design, _: Sized) -> Iterator[Finding]:
    off = design.config.env.get(_P2P_OFF, "0")
    if off != "0" and design.gated and _joins_gpus(design):
        yield Finding(
            f"env.{_P2P_OFF}",
            off,
            "keeps NCCL off NVLink, by which the GPUs of a machine reach each other, and the gates refuse "
            "ranks that go another way",
            "drop it",
        )


def goes_by_tcp(design: Design) -> bool:
    """Return whether the stack says that the ranks of several machines go by TCP although RDMA joins them."""
    by_hand = design.config.env.get("NCCL_NET", "")
    return design.fabric.kind == "rdma" and _crosses(design) and by_hand.lower() == "socket"


def _crosses(design: Design) -> bool:
    return any(group.machines > 1 for group in design.groups)


def _joins_gpus(design: Design) -> bool:
    return any(group.parallel.gpus > 1 for group in design.groups)


def _spreads_something(design: Design, _: Sized) -> Iterator[Finding]:
    backend = design.config.flags.get(_ALL_TO_ALL)
    if backend is not None and not any(group.parallel.expert_parallel for group in design.groups):
        yield Finding(
            f"flags.{_ALL_TO_ALL}",
            backend,
            "moves tokens between experts, and the layout spreads none",
            "write expert_parallel: true in the layout, or leave it out",
        )


RULES = (
    Rule(
        "fabric-joins-the-machines",
        "the fabric is one that the machine type has",
        "stacks/catalog/machines",
        _joins_the_machines,
    ),
    Rule(
        "inside-one-domain",
        "the GPUs of a fleet lie in one NVLink or Infinity Fabric domain, or the stack names a network "
        "(fabric: rdma)",
        "https://recipes.vllm.ai/moonshotai/Kimi-K3; domain sizes of the catalog",
        _inside_one_domain,
    ),
    Rule(
        "trays-of-one-domain",
        "machines of one NVLink domain stand in one rack and one clique, where their owner says so",
        "machine types of the catalog: one NVLink domain is one NVL72 rack",
        _trays_of_one_place,
    ),
    Rule(
        "fabric-carries-the-options",
        "all-to-all and MoE backends are ones that work across the fabric: deepep_v2 on RDMA, "
        "flashinfer_nvlink_one_sided on NVLink, no mega-MoE across RDMA",
        "https://recipes.vllm.ai/moonshotai/Kimi-K3 (notes)",
        _carries_the_options,
    ),
    Rule(
        "no-nvlink-all-reduce-over-a-network",
        "no FlashInfer (MNNVL) all-reduce where a tensor parallel group crosses RDMA",
        "https://github.com/vllm-project/vllm/issues/51986",
        _reduces_over_the_network,
    ),
    Rule(
        "settings-of-the-fabric-stand",
        "variables that the fabric between the machines asks for are not set otherwise by hand",
        "stacks/catalog/fabrics",
        _keeps_what_the_fabric_asks,
    ),
    Rule(
        "ranks-go-by-rdma",
        "ranks that RDMA joins do not go by TCP, unless the stack itself says so (NCCL_NET: Socket)",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
        _goes_by_rdma,
    ),
    Rule(
        "gpus-go-by-nvlink",
        "GPUs of one machine reach each other by NVLink where a gate looks at their way",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
        _goes_by_nvlink,
    ),
    Rule(
        "all-to-all-needs-experts",
        "an all-to-all backend set by hand needs expert parallel",
        "https://recipes.vllm.ai/Qwen/Qwen3.8-2.4T-A95B (strategy overrides)",
        _spreads_something,
    ),
)

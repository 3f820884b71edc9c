"""What is not refused, but worth knowing before `up`: open reports, unknowns, and whose figures these are."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stacks.catalog.figures import address
from stacks.planning import placement
from stacks.planning.access import access, open_to_all
from stacks.planning.design import Design, GroupDesign
from stacks.planning.drivers import driver_floor
from stacks.planning.host_stack import host_stack
from stacks.planning.load import load_time
from stacks.planning.memory.weights import known_bytes
from stacks.planning.naming import gib, of_engine
from stacks.planning.rules.fabrics import goes_by_tcp
from stacks.planning.rules.fitting import PATIENCE, patience
from stacks.planning.rules.rule import number_format
from stacks.planning.sized import Cache, Sized

_VLLM = "https://github.com/vllm-project/vllm/issues"
_WIDE = 16
"""Tensor parallel ranks from which a report was seen."""
_MANY = 44
"""Ranks from which NCCL crashed over NVLink."""
_LAB = "this fleet runs on CPU cores of one machine and proves the path, not a speed"


class Report(NamedTuple):
    """A report of somebody else on an engine, a fabric or a scale; one on a model stands in the model's file.

    Attributes:
        touches: Whether it touches a fleet.
        says: What was seen and what helped, one clause.
        source: Address.
    """

    touches: Callable[[Design], bool]
    says: str
    source: str


def warnings(design: Design, sized: Sized) -> Iterator[str]:
    """Yield what a person should know of a fleet that keeps all rules, one sentence each."""
    if design.lab:
        yield _LAB
    else:
        yield from _standing(design)
        yield from _catalogued(design)
        yield from _unknown(design)
        yield from _restarts(design)
    yield from _tight(design, sized)
    yield from _set_by_hand(design)
    yield from _speculation(design)
    yield from _access(design)
    for report in REPORTS:
        if report.touches(design):
            yield f"reported by others: {report.says} [{report.source}]"


def _standing(design: Design) -> Iterator[str]:
    if design.config.accept_undocumented:
        yield f"nobody documents this layout; it is accepted because: {design.config.accept_undocumented}"
    if goes_by_tcp(design):
        yield (
            "the ranks of several machines go by TCP, as NCCL_NET says, and by no RDMA: many times slower, "
            "and no gate refuses it"
        )
    if design.documented and any(each.published for each in design.documented.evidence):
        yield "published figures hold on their own conditions; they promise nothing here"
    how = design.accelerator.emulated.get(design.checkpoint.facts.format)
    if how:
        yield f"{design.machine.accelerator} does not execute {number_format(design)} natively: {how}"


def _catalogued(design: Design) -> Iterator[str]:
    """Yield what the model's file says, from the model to the layout."""
    facts, accelerator = design.model.facts, design.machine.accelerator
    yield from facts.warnings
    yield from design.profile.warnings if design.profile else ()
    if design.checkpoint.facts.warning:
        yield design.checkpoint.facts.warning
    if design.documented:
        yield from design.documented.warnings
    elif refused := facts.refused.get(accelerator):
        yield f"{accelerator}: {refused.reason} [{address(facts.sources, refused.source)}]"


def _unknown(design: Design) -> Iterator[str]:
    floor = driver_floor(design)
    if floor is None:
        yield f"the oldest driver for {design.config.engine} on {design.machine.accelerator} is unknown"
    elif getattr(design.config.machines, "driver", None) is None:
        yield f"which driver the machines get is not said (machines.driver); it must be {floor} or newer"
    if design.model.facts.requires == "unknown":
        yield f"which release of the engine was the first to serve {design.model.facts.title} is unknown"
    if known_bytes(design.checkpoint.facts)[0] is None:
        yield (
            f"how large the weights of {number_format(design)} are is unknown, and they are missing in all "
            "sizes: whether they and any request fit is unknown"
        )
    if design.draft and design.draft.tensor_bytes == "unknown":
        yield f"the size of the draft {design.draft_name} is unknown, so that the cache may turn out smaller"


def _restarts(design: Design) -> Iterator[str]:
    """Yield which machines may be restarted, why, and in which order."""
    below = host_stack(design)
    if below is None or below.driver is None:
        return
    reasons = [f"another driver than {below.driver}, or nouveau, is loaded"]
    reasons += [f"the kernel was started without {each}" for each in below.kernel_arguments]
    names = ", ".join(host.name for host in placement.hosts(design))
    yield f"`prepare` restarts the machines on which {' or '.join(reasons)}, one after another: {names}"


def _tight(design: Design, sized: Sized) -> Iterator[str]:
    for group in design.groups:
        memory, cache = sized[group.name]
        request, of = cache.requests[0], f" of {group.name}" if len(design.groups) > 1 else ""
        if memory.pool.low is not None and memory.pool.low < request.size:
            yield (
                f"whether one request of {request.tokens:,} tokens fits is not certain: the cache{of} "
                "has between "
                f"{gib(max(memory.pool.low, 0))} and {gib(memory.pool.high)}, it takes {gib(request.size)}"
            )
        if group.name == "prefill":
            continue
        wanted = design.config.workload.concurrency / group.parallel.data_parallel
        yield from _requests_at_once(design, group, cache)
        if request.low is not None and request.low < wanted:
            yield (
                f"{design.config.workload.concurrency} requests in flight do not all fit at "
                f"{request.tokens:,} tokens: "
                f"the cache{of} holds {request.low:.1f} of that length on each of "
                f"{group.parallel.data_parallel} engine "
                "ranks; shorter ones fit, longer ones wait"
            )


def _requests_at_once(design: Design, group: GroupDesign, cache: Cache) -> Iterator[str]:
    """Yield what is doubtful of requests at once that are set by hand."""
    by_hand, wanted = design.config.flags.get("max-num-seqs"), design.config.workload.concurrency
    if not isinstance(by_hand, int):
        return
    least, ranks = cache.blocks.low, group.parallel.data_parallel
    if cache.state_blocks and least is not None and least < by_hand <= cache.blocks.high:
        yield (
            f"max-num-seqs {by_hand} may be more than fits: {least} to {cache.blocks.high} blocks do, and "
            "the state of each request takes one"
        )
    if by_hand * ranks < wanted:
        let_in = f"max-num-seqs {by_hand} lets {by_hand * ranks} of {wanted} requests in flight in"
        yield f"{let_in}, and the rest wait"


def _set_by_hand(design: Design) -> Iterator[str]:
    """Yield what the engine takes, though it is more or less than what is said to be needed."""
    flags, seconds, said = design.config.flags, design.config.env.get(PATIENCE, ""), patience(design)
    for group in design.groups if "max-num-batched-tokens" in flags else ():
        most, of = (group.max_num_seqs or 1) * design.context, of_engine(group.name)
        if group.batched_tokens > most:
            yield (
                f"max-num-batched-tokens{of} {group.batched_tokens} is more than the {most} tokens that the "
                "requests at once can fill; the engine only warns"
            )
    load = load_time(design)
    least = max(int(str(said.value)) if said else 0, math.ceil(load.high or 0))
    if seconds and int(seconds) < least:
        yield (
            f"the engine is given up after {seconds} s ({PATIENCE}), and {least} s or more are what the "
            "weights may need"
        )


def _speculation(design: Design) -> Iterator[str]:
    if design.draft and design.draft.loses:
        yield f"the draft {design.draft_name} does not always pay: {design.draft.loses}"


def _access(design: Design) -> Iterator[str]:
    planned = access(design)
    if open_to_all(planned.operators):
        yield "access.operators lets everybody to SSH on all machines; name the networks of those who need it"
    if open_to_all(planned.sources):
        yield (
            "access.sources lets everybody to the gateway, where only the keys keep strangers out; name the "
            "networks of the clients if they are known"
        )
    if planned.host != (head := placement.name(design, 0)):
        yield (
            f"access.gateway {planned.host} is not the head: the engine's key, prompts and answers go "
            f"to {head} in clear, and every user of a member reaches the engine there, which guards only "
            "a part of its paths with its key; leave it out unless the members and the "
            "network between them are yours alone"
        )


def _ranks(design: Design) -> int:
    return max(group.parallel.gpus for group in design.groups)


def _tensor(design: Design) -> int:
    return max(group.parallel.tensor_parallel for group in design.groups)


def _crosses(design: Design) -> bool:
    return any(group.machines > 1 for group in design.groups)


def _apart(design: Design) -> bool:
    return len(design.groups) > 1


def _context_parallel(design: Design) -> bool:
    return any(group.parallel.decode_context_parallel > 1 for group in design.groups)


def _stages(design: Design) -> bool:
    return any(group.parallel.pipeline_parallel > 1 for group in design.groups)


def _dspark(design: Design) -> bool:
    return design.draft is not None and design.draft.method == "dspark"


def _on(design: Design, *families: str) -> bool:
    return design.family_name in families


REPORTS: tuple[Report, ...] = (
    Report(
        lambda fleet: (
            _on(fleet, "blackwell", "hopper") and fleet.fabric.kind == "rdma" and _tensor(fleet) >= _WIDE
        ),
        "wrong output with CUDA graphs at TP16 over EFA, open; --enforce-eager helped",
        f"{_VLLM}/52531",
    ),
    Report(
        _apart,
        "silent corruption with prefill and decode apart over NIXL, open, still in 0.28; serve together "
        "or run canaries",
        f"{_VLLM}/52627",
    ),
    Report(
        lambda fleet: _apart(fleet) and len({group.parallel.tensor_parallel for group in fleet.groups}) > 1,
        "prefill and decode of different tensor parallel sizes failed elsewhere, as did data parallel "
        "ranks there",
        f"{_VLLM}/50765",
    ),
    Report(
        lambda fleet: _apart(fleet) and _dspark(fleet),
        "DSpark did not work together with NIXL, open, seen with another model",
        f"{_VLLM}/48221",
    ),
    Report(
        lambda fleet: _on(fleet, "cdna4") and fleet.checkpoint.facts.format == "mxfp4",
        "garbage from MXFP4 experts on gfx950 (also vllm#52190); VLLM_ROCM_USE_AITER_MOE=0 until it "
        "is mended",
        f"{_VLLM}/52240",
    ),
    Report(
        lambda fleet: _on(fleet, "cdna4"),
        "ROCm graphs were captured on the wrong stream; take a build that has this change",
        "https://github.com/vllm-project/vllm/pull/53818",
    ),
    Report(
        lambda fleet: _context_parallel(fleet) and _stages(fleet),
        "an error of tensor and pipeline parallel together with context parallel, open",
        "https://github.com/vllm-project/recipes/issues/698",
    ),
    Report(
        lambda fleet: _context_parallel(fleet) and _dspark(fleet),
        "a memory fault of DSpark with decode context parallel 8 since #54277; check the engine's build",
        f"{_VLLM}/54649",
    ),
    Report(
        lambda fleet: _dspark(fleet) and _stages(fleet),
        "DSpark was refused with pipeline stages before #50514; the recipe for Kimi K3 still keeps them "
        "apart, vLLM 0.33.0 refuses only its replayssm form",
        f"{_VLLM}/50098",
    ),
    Report(
        lambda fleet: _crosses(fleet) and not fleet.lab,
        "0.28 hung on two nodes, open; nobody says whether 0.33 does",
        f"{_VLLM}/53894",
    ),
    Report(
        lambda fleet: fleet.fabric.kind == "nvlink" and _ranks(fleet) >= _MANY,
        "NCCL crashed over NVLink at 44 ranks and more; NCCL_MNNVL_ENABLE=0 helped",
        "https://github.com/NVIDIA/nccl/issues/2186",
    ),
)

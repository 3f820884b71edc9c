"""What is not refused, but worth knowing before `up`: open reports, unknowns, and whose figures these are."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stacks.planning import versions
from stacks.planning.design import Design
from stacks.planning.rules import Sized
from stacks.planning.rules.engines import driver_floor
from stacks.planning.rules.rule import number_format

_VLLM = "https://github.com/vllm-project/vllm/issues"
_WIDE = 16
"""Tensor parallel ranks from which two of the reports were seen."""
_MANY = 44
"""Ranks from which NCCL crashed over NVLink."""
_LAB = (
    "this fleet runs on CPU cores of one machine and proves the path, not a speed; "
    "nothing here was run by us on a GPU"
)
_ISSUE = re.compile(r".*/(.+)/issues/")


class Report(NamedTuple):
    """A report of somebody else that touches some layouts.

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
    told = [_LAB] if design.lab else [*_standing(design), *_unknown(design)]
    told += [*_tight(design, sized), *_speculation(design)]
    yield from told
    known = " ".join(told)
    for report in REPORTS:
        # What the catalog says in its own words (`vllm#52627`) is not said twice.
        if report.touches(design) and _ISSUE.sub(r"\1#", report.source) not in known:
            yield f"reported by others: {report.says} [{report.source}]"


def _standing(design: Design) -> Iterator[str]:
    yield (
        "nothing of this was run on a GPU by Rackstack: what is documented was run by those whom the "
        "evidence names"
    )
    if design.config.accept_undocumented:
        yield f"nobody documents this layout; it is accepted because: {design.config.accept_undocumented}"
    if design.documented:
        yield from design.documented.warnings
        if any(each.published for each in design.documented.evidence):
            yield "published figures hold on their own conditions; they promise nothing here"
    if design.checkpoint.facts.warning:
        yield design.checkpoint.facts.warning
    how = design.accelerator.emulated.get(design.checkpoint.facts.format)
    if how:
        yield f"{design.machine.accelerator} does not execute {number_format(design)} natively: {how}"


def _unknown(design: Design) -> Iterator[str]:
    floor = driver_floor(design)
    if floor is None:
        yield f"the oldest driver for {design.config.engine} on {design.machine.accelerator} is unknown"
    elif getattr(design.config.machines, "driver", None) is None:
        yield f"which driver the machines have is not said (machines.driver); it must be {floor} or newer"
    if design.model.facts.requires == "unknown":
        yield f"which release of the engine was the first to serve {design.model.facts.title} is unknown"
    if design.draft and design.draft.tensor_bytes == "unknown":
        yield f"the size of the draft {design.draft_name} is unknown, so that the cache may turn out smaller"


def _tight(design: Design, sized: Sized) -> Iterator[str]:
    for group in design.groups:
        memory, cache = sized[group.name]
        request, of = cache.requests[0], f" of {group.name}" if len(design.groups) > 1 else ""
        if memory.pool.low is not None and memory.pool.low < request.size:
            yield (
                f"whether one request of {request.tokens:,} tokens fits is not certain: the cache{of} "
                "has between "
                f"{max(memory.pool.low, 0) / 10**9:.1f} and {memory.pool.high / 10**9:.1f} GB, it takes "
                f"{request.size / 10**9:.1f} GB"
            )
        if group.name == "prefill":
            continue
        wanted = design.config.workload.concurrency / group.parallel.data_parallel
        if request.low is not None and request.low < wanted:
            yield (
                f"{design.config.workload.concurrency} requests in flight do not all fit at "
                f"{request.tokens:,} tokens: "
                f"the cache{of} holds {request.low:.1f} of that length on each of "
                f"{group.parallel.data_parallel} engine "
                "ranks; shorter ones fit, longer ones wait"
            )


def _speculation(design: Design) -> Iterator[str]:
    if design.draft and design.draft.loses:
        yield f"the draft {design.draft_name} does not always pay: {design.draft.loses}"


def _model(design: Design, name: str) -> bool:
    return design.model.name == name


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


def _fp8_cache(design: Design) -> bool:
    return any(group.kv_cache == "fp8" for group in design.groups)


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
        lambda fleet: _model(fleet, "kimi-k3") and fleet.checkpoint.facts.format == "nvfp4",
        "gibberish from RedHatAI/Kimi-K3-NVFP4 on 8 B300 with 0.27.0, open; use MXFP4 and a canary of "
        "meaning",
        f"{_VLLM}/51798",
    ),
    Report(
        lambda fleet: _model(fleet, "kimi-k3") and _on(fleet, "cdna4"),
        "HIP error 700 in the MLA kernel on MI355X, open; --kv-cache-dtype auto and a newer AITER helped",
        f"{_VLLM}/50347",
    ),
    Report(
        lambda fleet: _on(fleet, "cdna4") and fleet.checkpoint.facts.format == "mxfp4",
        "garbage from MXFP4 experts on gfx950; VLLM_ROCM_USE_AITER_MOE=0 until it is mended",
        f"{_VLLM}/52240",
    ),
    Report(
        lambda fleet: _model(fleet, "kimi-k3") and _on(fleet, "hopper"),
        "the recipe ran out of memory on H200, open; TP8xPP4 of NVIDIA Dynamo leaves more room",
        "https://github.com/vllm-project/recipes/issues/698",
    ),
    Report(
        lambda fleet: _model(fleet, "kimi-k3") and _on(fleet, "hopper") and _fp8_cache(fleet),
        "an assertion of the FP8 prefill kernel on H200; a BF16 cache helped",
        "https://github.com/ai-dynamo/dynamo/issues/12475",
    ),
    Report(
        lambda fleet: _context_parallel(fleet) and _stages(fleet),
        "an error of tensor and pipeline parallel together with context parallel, open",
        "https://github.com/vllm-project/recipes/issues/698",
    ),
    Report(
        lambda fleet: _context_parallel(fleet) and _dspark(fleet),
        "a memory fault of DSpark with decode context parallel 8; check the engine's build",
        f"{_VLLM}/54649",
    ),
    Report(
        lambda fleet: _dspark(fleet) and _stages(fleet),
        "DSpark was refused with pipeline stages before #50514; the recipe still keeps them apart",
        f"{_VLLM}/50098",
    ),
    Report(
        lambda fleet: _model(fleet, "kimi-k3") and _on(fleet, "blackwell") and _tensor(fleet) >= _WIDE,
        "padding of the experts at TP16 broke mega-MoE and took about 120 GB of each GPU, until #51131",
        f"{_VLLM}/51124",
    ),
    Report(
        lambda fleet: _model(fleet, "kimi-k3"),
        "tool calls came back empty when streamed; check them against their schema and ask again",
        f"{_VLLM}/53246",
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
    Report(
        lambda fleet: (
            fleet.fabric.kind == "rdma"
            and _crosses(fleet)
            and not versions.within(fleet.engine.facts.release, "0.27.1", None)
        ),
        "FlashInfer's all-reduce hung between InfiniBand nodes; turn fuse_allreduce_rms off",
        f"{_VLLM}/51986",
    ),
)

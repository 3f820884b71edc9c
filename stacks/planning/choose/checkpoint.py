"""Which checkpoint: the one that somebody has documented on these accelerators."""

from collections.abc import Iterator

from stacks.catalog.figures import address
from stacks.catalog.models import ModelFacts
from stacks.config import FleetConfig
from stacks.planning import naming
from stacks.planning.choose.site import Site
from stacks.planning.reasons import BY_HAND, SET_BY_HAND, Alternative, Choice


def checkpoint(config: FleetConfig, model: ModelFacts, where: Site) -> tuple[str, Choice]:
    """Return the name of the checkpoint, and why it is that one."""
    documented = list(dict.fromkeys(_documented(config, model, where)))
    if config.checkpoint:
        name, why, source = config.checkpoint, SET_BY_HAND, BY_HAND
    elif documented:
        name = documented[0]
        why = f"a layout for it is written down on {where.machine.accelerator}"
        source = model.checkpoints[name].source
    else:
        name = next(iter(_native(model, where)), next(iter(model.checkpoints)))
        why = f"nothing is documented on {where.machine.accelerator}, and it is the first that runs there"
        source = "assumption"
    others = [other for other in model.checkpoints if other != name]
    return name, Choice(
        what="checkpoint",
        value=f"{name} ({model.checkpoints[name].label})",
        why=why,
        source=address(model.sources, source),
        alternatives=tuple(
            Alternative(value=other, why_not=_why_not(model, other, documented, where)) for other in others
        ),
    )


def _documented(config: FleetConfig, model: ModelFacts, where: Site) -> Iterator[str]:
    """Yield checkpoints that are documented here, those of the layout that was asked for first."""
    here = [each for each in model.layouts if where.machine.accelerator in each.accelerators]
    for layout in (*(each for each in here if each.layout == config.layout), *here):
        yield from layout.checkpoints


def _native(model: ModelFacts, where: Site) -> list[str]:
    return [name for name, facts in model.checkpoints.items() if facts.format in where.accelerator.formats]


def _why_not(model: ModelFacts, name: str, documented: list[str], where: Site) -> str:
    facts, accelerator = model.checkpoints[name], where.machine.accelerator
    if facts.format not in where.accelerator.formats:
        return f"{accelerator} does not execute {facts.format} natively"
    size = facts.tensor_bytes if isinstance(facts.tensor_bytes, int) else facts.about_bytes
    held = f"{naming.gb(size)} of weights" if size else "its size is unknown"
    if name not in documented:
        return f"no layout is documented for it on {accelerator}; {held}"
    return f"also documented on {accelerator}; {held}"

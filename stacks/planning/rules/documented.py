"""Whether somebody has written the layout down, and whether the GPUs execute the checkpoint's format."""

from collections.abc import Iterator

from stacks.catalog.figures import address
from stacks.catalog.models import DocumentedLayout
from stacks.config import BareMetalMachines
from stacks.planning.design import Design
from stacks.planning.naming import titled
from stacks.planning.rules.rule import Finding, Rule, called, either, number_format, split_of
from stacks.planning.rules.split import counted, documented_counts, heads_fit
from stacks.planning.sized import Sized


def _layout_is_documented(design: Design, _: Sized) -> Iterator[Finding]:
    """A split that no machine could carry is not worth documenting, so heads-divide speaks alone."""
    facts, shape = design.model.facts, design.model.facts.shape
    settled = design.lab or design.documented or design.config.accept_undocumented
    if settled or not all(heads_fit(shape, group.parallel.tensor_parallel) for group in design.groups):
        return
    accelerator = design.machine.accelerator
    refused = facts.refused.get(accelerator)
    if refused:
        yield Finding(
            "machines.type" if isinstance(design.config.machines, BareMetalMachines) else "machines",
            design.machine.title,
            f"has no documented layout of {called(design)}: {refused.reason}",
            f"{_take(design)}, {_ACCEPT}",
            address(facts.sources, refused.source),
        )
    elif counted(design):
        yield Finding(
            "machines.count",
            design.count,
            f"x {design.machine.gpus} GPUs are the machines of no documented layout of {called(design)} "
            f"{number_format(design)} on {accelerator} over {design.fabric_name}",
            f"{documented_counts(design) or _take(design)}, {_ACCEPT}",
        )
    else:
        yield Finding(
            "layout",
            split_of(design),
            f"of {called(design)} {number_format(design)} on {accelerator} over {design.fabric_name} is "
            "documented by nobody",
            f"{_take(design)}, {_ACCEPT}",
        )


_ACCEPT = "or write accept_undocumented: with your reason, which labels everything"


def _take(design: Design) -> str:
    """Return what is documented, nearest first: here with this checkpoint, here with another, elsewhere."""
    layouts, accelerator = design.model.facts.layouts, design.machine.accelerator
    here = [each for each in layouts if accelerator in each.accelerators]
    mine = [each for each in here if design.checkpoint_name in each.checkpoints]
    if mine:
        written = _once(f"{titled(each.title)} over {either(list(each.fabrics))}" for each in mine)
        return f"take {either(written)}"
    if here:
        return f"take checkpoint {either(_once(name for each in _near(design) for name in each.checkpoints))}"
    there = _once(name for each in layouts for name in each.accelerators)
    return f"take {either(there)}" if there else "take another model"


def _near(design: Design) -> list[DocumentedLayout]:
    """Return layouts on these accelerators; over this fabric where there are any."""
    here = [each for each in design.model.facts.layouts if design.machine.accelerator in each.accelerators]
    return [each for each in here if design.fabric_name in each.fabrics] or here


def _once(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _something_to_accept(design: Design, _: Sized) -> Iterator[Finding]:
    reason = design.config.accept_undocumented
    if reason and (design.documented or design.lab):
        what = (
            "the lab's own"
            if design.lab
            else f"documented ({titled(design.documented.title)})"
            if design.documented
            else ""
        )
        yield Finding(
            "accept_undocumented",
            f'"{reason}"',
            f"has nothing to accept: the layout is {what}",
            "drop it",
        )


def _profile_exists(design: Design, _: Sized) -> Iterator[Finding]:
    """A layout that nobody documents, accepted or not, has no profile to miss."""
    if design.profile is None and design.documented:
        known = sorted(
            {f"vLLM {each.since} or newer on {each.family}" for each in design.model.facts.profiles}
        )
        others = known or ["another model"]
        yield Finding(
            "engine",
            design.config.engine,
            f"({design.engine.facts.release}) has no options of {called(design)} on "
            f"{design.family_name} in "
            "the catalog",
            f"take {either(others)}",
        )


def _format_is_executable(design: Design, _: Sized) -> Iterator[Finding]:
    form, accelerator = design.checkpoint.facts.format, design.accelerator
    if form in accelerator.formats or form in accelerator.emulated:
        return
    executed = [*accelerator.formats, *accelerator.emulated]
    facts = design.model.facts
    fitting = [
        name
        for name, each in facts.checkpoints.items()
        if each.format in executed and any(name in layout.checkpoints for layout in _near(design))
    ]
    yield Finding(
        "checkpoint",
        f"{design.checkpoint_name} ({number_format(design)})",
        f"is in a format that {design.machine.accelerator} does not execute: it has "
        f"{either(list(accelerator.formats))}",
        f"take checkpoint {either(fitting)}" if fitting else "take other machines",
    )


RULES = (
    Rule(
        "layout-is-documented",
        "somebody has written the layout down for this checkpoint, these accelerators and this fabric, "
        "or the stack "
        "says why it is wanted all the same (accept_undocumented)",
        "layouts of stacks/catalog/models",
        _layout_is_documented,
    ),
    Rule(
        "something-to-accept",
        "accept_undocumented stands only where the layout is undocumented",
        "stacks/config/fleet.py",
        _something_to_accept,
    ),
    Rule(
        "profile-exists",
        "the model has options for the accelerator family at the engine's release",
        "profiles of stacks/catalog/models",
        _profile_exists,
    ),
    Rule(
        "format-is-executable",
        "the accelerator executes the checkpoint's number format, natively or as the catalog says",
        "formats of stacks/catalog/accelerators",
        _format_is_executable,
    ),
)

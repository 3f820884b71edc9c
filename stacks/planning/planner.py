"""Makes the plan, or refuses with every broken rule."""

from collections.abc import Iterator

from stacks.catalog import Catalog
from stacks.catalog.figures import address
from stacks.catalog.models import Endpoint, ModelFacts
from stacks.config import FleetConfig, LabMachines
from stacks.errors import PlanError
from stacks.planning import choose, pins, placement
from stacks.planning.access import PACKAGES, access
from stacks.planning.budget import budget
from stacks.planning.claims import claims, not_listed
from stacks.planning.cost import cost
from stacks.planning.design import Design, GroupDesign
from stacks.planning.evidence import standing
from stacks.planning.host_stack import host_stack, wanted_driver
from stacks.planning.load import bytes_to_read, load_time, not_counted, window
from stacks.planning.memory import mib
from stacks.planning.names import unknown_names, wrong_types
from stacks.planning.options import left_out, options
from stacks.planning.overrides import priced
from stacks.planning.plan import (
    EngineGroup,
    FabricPlan,
    FleetPlan,
    ImagePin,
    MachineType,
    ModelSummary,
    Ports,
)
from stacks.planning.reasons import Choice
from stacks.planning.rules import broken
from stacks.planning.sized import Sized
from stacks.planning.trades import settled
from stacks.planning.warnings import warnings

# All below the ephemeral range (32768 and up on Linux), so that no outgoing connection can hold one of them.
_HTTP = {"serve": 8000, "prefill": 8001, "decode": 8002}
_SIDE_CHANNEL = 5600


def plan(config: FleetConfig, catalog: Catalog, stack: str) -> FleetPlan:
    """Return everything that is decided before the first effect. Pure.

    Raises:
        PlanError: The fleet cannot work; lists every broken rule.
    """
    if faults := [*unknown_names(config, catalog, stack), *wrong_types(config)]:
        raise PlanError(faults)

    def chooser(wanted: FleetConfig) -> Design:
        return choose.design(wanted, catalog, stack)

    design, sized = settled(chooser(config))
    if faults := list(broken(design, sized)):
        raise PlanError(faults)
    return _plan(design, sized, catalog, tuple(priced(design, sized, chooser)))


def _plan(design: Design, sized: Sized, catalog: Catalog, choices: tuple[Choice, ...]) -> FleetPlan:
    load = load_time(design)
    unpinned = tuple(pins.missing(design))
    groups = tuple(_groups(design, sized))
    return FleetPlan(
        stack=design.stack,
        provider=design.config.machines.provider,
        machine=_machine(design),
        fabric=_fabric(design),
        image=_image(design.config, catalog),
        hosts=placement.hosts(design),
        groups=groups,
        engine=pins.engine(design),
        model=_model(design.model.facts),
        checkpoint=pins.checkpoint(design),
        draft=pins.draft(design),
        unpinned=unpinned,
        served_name=design.model.facts.served_name,
        context=design.context,
        disk_mib=_disk(design),
        not_counted=not_counted(design),
        packages=(*design.engine.facts.packages, *PACKAGES),
        host_stack=host_stack(design),
        budget=budget(design),
        load=load,
        cost=cost(design, load),
        access=access(design),
        endpoint=_endpoint(design.model.facts),
        standing=standing(design),
        choices=choices,
        warnings=tuple(_warnings(design, sized)),
        missing=tuple(_missing(design, groups, len(unpinned))),
        claims=claims(design.config),
    )


def _groups(design: Design, sized: Sized) -> Iterator[EngineGroup]:
    first = 0
    for group in design.groups:
        flags, env = options(design, group)
        memory, cache = sized[group.name]
        balanced = any(flag.name == "data-parallel-hybrid-lb" and flag.value is True for flag in flags)
        yield EngineGroup(
            name=group.name,
            parallel=group.parallel,
            ranks=placement.ranks(design, group, first, all_serve=balanced),
            ports=_ports(group),
            options=flags,
            env=env,
            memory=memory,
            cache=cache,
            max_num_seqs=group.max_num_seqs,
        )
        first += group.machines


def _ports(group: GroupDesign) -> Ports:
    return Ports(
        http=_HTTP[group.name],
        rendezvous=29501,
        data_parallel=29550,
        side_channel=None if group.name == "serve" else _SIDE_CHANNEL,
        internal=29600,
    )


def _endpoint(model: ModelFacts) -> Endpoint:
    source = model.endpoint.source
    return model.endpoint.model_copy(update={"source": address(model.sources, source)})


def _model(facts: ModelFacts) -> ModelSummary:
    shape = facts.shape
    return ModelSummary(
        title=facts.title,
        parameters=None if shape.parameters == "unknown" else shape.parameters,
        layers=shape.layers,
        experts=shape.experts,
    )


def _disk(design: Design) -> int | None:
    stored = bytes_to_read(design)
    return None if stored is None else design.engine.facts.disk_mib + mib(stored)


def _machine(design: Design) -> MachineType:
    machine, machines = design.machine, design.config.machines
    return MachineType(
        name="lab-host" if isinstance(machines, LabMachines) else machines.type,
        title=machine.title,
        unit=machine.unit,
        accelerator=machine.accelerator,
        architecture=None
        if design.accelerator.architecture == "unknown"
        else design.accelerator.architecture,
        gpus=machine.gpus,
        arch=machine.arch,
        domain=machine.domain,
        vendor=design.family.vendor,
        nvlinks=None if design.accelerator.nvlinks == "unknown" else design.accelerator.nvlinks,
    )


def _fabric(design: Design) -> FabricPlan:
    fabric, pins_here = design.fabric, {**design.machine.pins, **design.fabric.pins}
    return FabricPlan(name=design.fabric_name, title=fabric.title, kind=fabric.kind, pins=pins_here)


def _image(config: FleetConfig, catalog: Catalog) -> ImagePin | None:
    if not isinstance(config.machines, LabMachines):
        return None
    image = catalog.images[config.machines.image]
    return ImagePin(name=config.machines.image, suite=image.suite, packages=image.packages)


def _warnings(design: Design, sized: Sized) -> Iterator[str]:
    yield from warnings(design, sized)
    yield from window(design)
    for group in design.groups:
        yield from left_out(design, group)


def _missing(design: Design, groups: tuple[EngineGroup, ...], unpinned: int) -> Iterator[str]:
    yield from not_listed(design)
    if design.family.vendor == "nvidia" and wanted_driver(design) is None:
        yield "machines.driver does not say which driver the machines get; write an exact release in quotes"
    if not access(design).operators:
        yield (
            "access.operators lists nobody, and SSH to the machines will be closed to all others; write the "
            "networks of the machines that run `up`"
        )
    if unpinned:
        pins_missing = "1 pin is missing" if unpinned == 1 else f"{unpinned} pins are missing"
        yield f"{pins_missing} (`make lock STACK={design.stack}` looks them up where there is internet)"
    if router := _router(groups):
        yield f"there is no role yet for {router}"


def _router(groups: tuple[EngineGroup, ...]) -> str | None:
    """Return what would have to share requests out; None where one machine takes them all."""
    if len(groups) > 1:
        return "a router that sends each request to prefill and then to decode"
    servers = sum(rank.serves for rank in groups[0].ranks)
    return f"a router in front of the {servers} API servers" if servers > 1 else None

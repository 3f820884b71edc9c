"""Who asks for which engine options, from the most general voice to the most special one."""

from collections.abc import Iterator, Mapping
from typing import Literal

from stacks.catalog.engines import Engine
from stacks.catalog.figures import Options, Reasoned, Sources, address
from stacks.catalog.hardware import Fabric, Family
from stacks.catalog.models import CheckpointFacts, DocumentedLayout, Draft, ModelFacts, Profile
from stacks.config import FleetConfig, Setting
from stacks.planning.design import Design, GroupDesign
from stacks.planning.reasons import BY_HAND, SET_BY_HAND, Origin
from stacks.values import Value

Kind = Literal["flags", "env"]
KINDS: tuple[Kind, Kind] = ("flags", "env")


class Voices(Value):
    """Everything that may ask for an option of one engine.

    Attributes:
        group: Name of the engine: serve, prefill or decode.
        crosses: The fabric, where the engine spans more than one machine.
        joins: The fabric, where a tensor parallel group of it does.
        share: What the draft asks for as `--gpu-memory-utilization` on this family; None where nothing.
    """

    config: FleetConfig
    group: str
    engine: Engine
    family: Family
    model: ModelFacts
    profile: Profile | None
    checkpoint: CheckpointFacts
    crosses: Fabric | None
    joins: Fabric | None
    documented: DocumentedLayout | None
    share: Reasoned | None


def draft_share(draft: Draft | None, family: str) -> Reasoned | None:
    """Return the share of a GPU's memory that somebody documents beside a draft."""
    return draft.share.get(family) if draft else None


def voices(design: Design, group: GroupDesign) -> Voices:
    """Return who may ask for options of an engine of a design."""
    return Voices(
        config=design.config,
        group=group.name,
        engine=design.engine,
        family=design.family,
        model=design.model.facts,
        profile=design.profile,
        checkpoint=design.checkpoint.facts,
        crosses=design.fabric if group.machines > 1 else None,
        joins=design.fabric if group.parallel.tensor_parallel > design.machine.gpus else None,
        documented=design.documented,
        share=draft_share(design.draft, design.family_name),
    )


def layers(asking: Voices, kind: Kind) -> Iterator[tuple[Origin, Options]]:
    """Yield who asks for what, with the address of each source; a later layer wins over an earlier one."""
    model = asking.model.sources
    everybody: tuple[tuple[Origin, Value | None, Sources], ...] = (
        ("engine", asking.engine.facts, asking.engine.facts.sources),
        ("family", asking.family, asking.family.sources),
        ("model", asking.model, model),
        ("profile", asking.profile, model),
        ("checkpoint", asking.checkpoint, model),
        ("fabric", asking.crosses, asking.crosses.sources if asking.crosses else {}),
        ("layout", asking.documented, model),
    )
    for origin, who, sources in everybody:
        if who is not None:
            yield origin, addressed(getattr(who, kind), sources)
        if origin == "fabric" and asking.joins:
            yield origin, addressed(getattr(asking.joins, f"tensor_{kind}"), sources)
    if asking.documented and asking.group != "serve":
        own = asking.group if kind == "flags" else f"{asking.group}_env"
        yield "layout", addressed(getattr(asking.documented, own), model)
    if asking.share and kind == "flags":
        yield "draft", addressed({"gpu-memory-utilization": asking.share}, model)
    yield "hand", _by_hand(getattr(asking.config, kind))


def whole(value: Setting | None) -> int:
    """Return the whole number that an option is set to; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def asked(asking: Voices, name: str) -> list[tuple[Origin, Reasoned]]:
    """Return who asks for an engine option and what they say; the last one has the last word."""
    return [(origin, options[name]) for origin, options in layers(asking, "flags") if name in options]


def addressed(options: Options, sources: Sources) -> Options:
    """Return options with the addresses of their sources."""
    return {
        name: each.model_copy(update={"source": address(sources, each.source)})
        for name, each in options.items()
    }


def _by_hand(settings: Mapping[str, Setting]) -> dict[str, Reasoned]:
    return {name: Reasoned(value=value, why=SET_BY_HAND, source=BY_HAND) for name, value in settings.items()}

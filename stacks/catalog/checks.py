"""What the files of the catalog say of each other."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from stacks.catalog.engines import LockFile, Reserve
from stacks.catalog.entries import Catalog
from stacks.catalog.hardware import Arch
from stacks.catalog.models import ModelFacts
from stacks.faults import Location, dotted, nearest
from stacks.values import Value

ASSUMPTION: Final = "assumption"
"""The source of a figure that nobody documents."""


def mistakes(catalog: Catalog) -> Iterator[str]:
    """Yield what does not hold together, as `file: key: sentence`: names and sources that are not there."""
    accelerators = [member for family in catalog.families.values() for member in family.members]
    for file, entry in _files(catalog):
        for at, source in _used(entry):
            if source != ASSUMPTION:
                yield from _unknown(file, at, [source], getattr(entry, "sources", {}))
    for name, machine in catalog.machines.items():
        file = f"machines/{name}.yaml"
        yield from _unknown(file, ("accelerator",), [machine.accelerator], accelerators)
        yield from _unknown(file, ("fabrics",), machine.fabrics, catalog.fabrics)
    for name, engine in catalog.engines.items():
        yield from _unknown(f"engines/{name}.yaml", ("families",), engine.facts.families, catalog.families)
        at = ("batched_tokens_on",)
        yield from _unknown(f"engines/{name}.yaml", at, engine.facts.batched_tokens_on, accelerators)
        yield from _platforms(f"engines/{name}.yaml", engine.facts.locks)
        yield from _reserves(f"engines/{name}.yaml", engine.facts.reserves)
    for name, model in catalog.models.items():
        yield from _model(f"models/{name}.yaml", model.facts, catalog, accelerators)
    yield from _twice(accelerators)


def _files(catalog: Catalog) -> Iterator[tuple[str, Value]]:
    kinds: Mapping[str, Mapping[str, Value]] = {
        "accelerators": catalog.families,
        "machines": catalog.machines,
        "fabrics": catalog.fabrics,
        "engines": {name: engine.facts for name, engine in catalog.engines.items()},
        "models": {name: model.facts for name, model in catalog.models.items()},
    }
    for kind, entries in kinds.items():
        for name, entry in entries.items():
            yield f"{kind}/{name}.yaml", entry


def _used(value: object, at: Location = ()) -> Iterator[tuple[Location, str]]:
    """Yield every `source` in an entry, with its place."""
    if isinstance(value, Value):
        if isinstance(source := getattr(value, "source", None), str):
            yield (*at, "source"), source
        value = vars(value)
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _used(below, (*at, key))
    elif isinstance(value, tuple):
        for place, below in enumerate(value):
            yield from _used(below, (*at, place))


def _model(file: str, facts: ModelFacts, catalog: Catalog, accelerators: Iterable[str]) -> Iterator[str]:
    for place, layout in enumerate(facts.layouts):
        at = ("layouts", place)
        yield from _unknown(file, (*at, "checkpoints"), layout.checkpoints, facts.checkpoints)
        yield from _unknown(file, (*at, "accelerators"), layout.accelerators, accelerators)
        yield from _unknown(file, (*at, "fabrics"), layout.fabrics, catalog.fabrics)
    for name, draft in facts.drafts.items():
        yield from _unknown(file, ("drafts", name, "on_family"), draft.on_family, catalog.families)
        yield from _unknown(file, ("drafts", name, "share"), draft.share, catalog.families)
    for place, profile in enumerate(facts.profiles):
        yield from _unknown(file, ("profiles", place, "family"), [profile.family], catalog.families)
    if facts.speculation:
        drafts = [*facts.drafts, "none"]
        yield from _unknown(file, ("speculation", "interactive"), [facts.speculation.interactive], drafts)
        yield from _unknown(file, ("speculation", "batch"), [facts.speculation.batch], drafts)
    yield from _unknown(file, ("refused",), facts.refused, accelerators)
    if facts.context.default > facts.context.longest:
        yield (
            f"{file}: context.default: {facts.context.default} is more than longest, {facts.context.longest};"
            " what a stack gets without asking comes first"
        )


def _unknown(file: str, at: Location, names: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            rule = "is not in the file's `sources`" if at[-1] == "source" else "is not in the catalog"
            yield f'{file}: {dotted(at)}: "{name}" {rule}; {nearest(name, list(known))}'


def _platforms(file: str, locks: Mapping[Arch, LockFile]) -> Iterator[str]:
    for arch, lock in locks.items():
        if not lock.platform.startswith(f"{arch}-"):
            yield (
                f'{file}: locks.{arch}.platform: "{lock.platform}" is of another machine;'
                f" write the one of the lock's wheels, {arch}-…"
            )


def _reserves(file: str, reserves: Mapping[str, Reserve]) -> Iterator[str]:
    for name, reserve in reserves.items():
        if reserve.low > reserve.high:
            yield (
                f"{file}: reserves.{name}.low: {reserve.low} is more than high, {reserve.high};"
                " the least comes first"
            )


def _twice(accelerators: list[str]) -> Iterator[str]:
    for name in sorted({name for name in accelerators if accelerators.count(name) > 1}):
        yield f"accelerators: {name} is a member of two families; leave it in one"

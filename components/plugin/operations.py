"""What the plugin answers, in decoded values: the kinds on one side, the wire's objects on the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from components.plugin import wire
from stacks.errors import EffectError, Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic import BaseModel

    from components.plugin.kind import Inputs, Kind, Outputs, Run

Wire = dict[str, Any]
"""A decoded wire object: secrets are marked, unknowns are `wire.UNKNOWN`."""

DRIFT: Final = "drift"
"""An input that the program never sets: what a look found, so that a preview names it and `up` mends it."""


class Unwell(Exception):  # noqa: N818 -- names the state that the engine keeps, as `Incomplete` does
    """A resource that exists and stays in state, with what is wrong with it."""

    def __init__(self, identifier: str, properties: Wire, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.identifier = identifier
        self.properties = properties


@dataclass(frozen=True)
class Witness:
    """A call, and what is kept of it if it fails.

    Attributes:
        run: The call, as its kind sees it.
        told: The lines that were shown while it ran.
        clean: Takes secrets out of a text that is to be kept.
    """

    run: Run
    told: Iterable[str]
    clean: Callable[[str], str]


@dataclass(frozen=True)
class Change:
    """Which inputs differ, and which of them need a new thing."""

    changed: tuple[str, ...]
    replacing: tuple[str, ...]


def check(kind: Kind[Any, Any], news: Wire) -> list[str]:
    """Return the faults of the inputs; what is unknown yet is judged when it is known."""
    unknown = {key for key, value in news.items() if wire.is_unknown(value)}
    faults = [] if DRIFT not in news else [f"{DRIFT}: the plugin sets this input itself; remove it"]
    try:
        inputs = kind.inputs.model_validate(wire.plain(news))
    except ValidationError as wrong:
        errors = [each for each in wrong.errors() if each["loc"][0] not in unknown]
        return faults + [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in errors]
    return faults if unknown else faults + list(kind.faults(inputs))


def diff(kind: Kind[Any, Any], olds: Wire, news: Wire) -> Change:
    """Compare old and new inputs by top-level key; the engine works out the nested difference."""
    changed = tuple(sorted(key for key in {*olds, *news} if olds.get(key) != news.get(key)))
    return Change(changed, tuple(key for key in changed if key in kind.replace_on))


def foresee_create(kind: Kind[Any, Any], news: Wire) -> Wire:
    """Return what a preview can show of a resource before it is made."""
    foreseen = dict.fromkeys(kind.outputs.model_fields, wire.UNKNOWN)
    known = not any(wire.is_unknown(value) for value in news.values())
    return news | foreseen | (kind.foresee(_inputs(kind, news)) if known else {})


def foresee_update(kind: Kind[Any, Any], olds: Wire, news: Wire) -> Wire:
    """Return what a preview can show of a resource before it is updated."""
    changed = frozenset(key for key in kind.inputs.model_fields if olds.get(key) != news.get(key))
    kept = kind.kept_by(changed) | {"incarnation"}
    outputs = {name: olds[name] if name in kept else wire.UNKNOWN for name in kind.outputs.model_fields}
    return news | outputs


def create(kind: Kind[Any, Any], news: Wire, witness: Witness) -> tuple[str, Wire]:
    """Ensure a resource; return its id and properties.

    Raises:
        Unwell: It was made, but not well.
        EffectError: Nothing was made.
    """
    inputs = _inputs(kind, news)
    try:
        outputs = kind.create(inputs, witness.run)
    except Incomplete as partial:
        made = _partial(kind, partial)
        reasons = _witnessed(kind, inputs, partial.reasons, witness)
        raise Unwell(identifier(kind, inputs, made), properties(news, made), reasons) from None
    except EffectError as refused:
        raise type(refused)(*_witnessed(kind, inputs, (str(refused),), witness)) from None
    return identifier(kind, inputs, outputs), properties(news, outputs)


def read(kind: Kind[Any, Any], inputs: Wire, olds: Wire, run: Run) -> tuple[Wire, Wire] | None:
    """Look at a resource; return its inputs with the drift, and its properties. None when it is gone."""
    asked = {key: value for key, value in inputs.items() if key != DRIFT}
    if not asked:
        raise Refusal(
            f"{run.name}: a {kind.token} cannot be imported; declare it and run `pulumi up`, which adopts it"
        )
    seen = kind.read(_inputs(kind, asked), _outputs(kind, olds), run)
    if seen is None:
        return None
    for place, aspects in seen.drift.items():
        for aspect, sentence in aspects.items():
            # The engine shows the words of an input only where somebody asks for them (`--diff`).
            run.note(f"{place}: {aspect}: {sentence}")
    found = asked | {DRIFT: seen.drift}
    return found, properties(found, seen.outputs)


def update(
    kind: Kind[Any, Any], identifier: str, before: tuple[Wire, Wire], news: Wire, witness: Witness
) -> Wire:
    """Bring a resource from its old (inputs, properties) to new inputs; return its properties.

    Raises:
        Unwell: It is not well now.
    """
    old_inputs, olds = before
    inputs = _inputs(kind, news)
    try:
        outputs = kind.update(_inputs(kind, old_inputs), inputs, _outputs(kind, olds), witness.run)
    except Incomplete as partial:
        reasons = _witnessed(kind, inputs, partial.reasons, witness)
        raise Unwell(identifier, properties(news, _partial(kind, partial)), reasons) from None
    except EffectError as refused:
        raise type(refused)(*_witnessed(kind, inputs, (str(refused),), witness)) from None
    return properties(news, outputs)


def delete(kind: Kind[Any, Any], inputs: Wire, olds: Wire, run: Run) -> None:
    """Remove a resource if it still is the incarnation in state."""
    kind.delete(_inputs(kind, inputs or olds), _outputs(kind, olds), run)


def identifier(kind: Kind[Any, Any], inputs: Inputs, outputs: Outputs) -> str:
    """Return the id of a resource: its deterministic name and its incarnation."""
    return f"{kind.identity(inputs)}/{outputs.incarnation}"


def properties(inputs: Mapping[str, Any], outputs: BaseModel) -> Wire:
    """Return what state holds of a resource: its inputs and its outputs."""
    return {**inputs, **wire.fields_of(outputs)}


def _witnessed(
    kind: Kind[Any, Any], inputs: Inputs, reasons: tuple[str, ...], witness: Witness
) -> tuple[str, ...]:
    """Return the reasons of a failure, the last of which names the archive with all that was seen.

    A person who pressed Ctrl-C knows why it failed, and wants it to end.
    """
    if witness.run.stop.is_set():
        return reasons
    found = {"failure.txt": "\n".join(reasons) + "\n", "told.txt": "\n".join(witness.told) + "\n"}
    try:
        archive = kind.bundle(inputs, found, witness.clean)
    except Exception as trouble:  # noqa: BLE001 -- whatever it is, it must not hide why we are here
        return (*reasons[:-1], f"{reasons[-1]}; the debug bundle could not be written: {trouble}")
    if archive is None:
        return reasons
    return (*reasons[:-1], f"{reasons[-1]}; all that was seen is in {archive}")


def _inputs(kind: Kind[Any, Any], values: Wire) -> Any:
    names = kind.inputs.model_fields
    return kind.inputs.model_validate(
        {key: value for key, value in wire.plain(values).items() if key in names}
    )


def _outputs(kind: Kind[Any, Any], values: Wire) -> Any:
    return kind.outputs.model_validate(wire.plain(values))


def _partial(kind: Kind[Any, Any], partial: Incomplete) -> Outputs:
    if not isinstance(partial.outputs, kind.outputs):
        raise TypeError(
            f"{kind.token}: Incomplete carries {type(partial.outputs).__name__}, not its outputs model"
        )
    made: Outputs = partial.outputs
    return made

"""Reads the catalog's files; every fault of all of them is told at once."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import ValidationError

from stacks.catalog.checks import mistakes
from stacks.catalog.engines import Engine, EngineFacts, Lock, LockFile
from stacks.catalog.entries import Catalog, Image
from stacks.catalog.figures import Unpinned
from stacks.catalog.hardware import Fabric, Family, Machine
from stacks.catalog.models import Checkpoint, CheckpointFacts, Manifest, Model, ModelFacts
from stacks.errors import CatalogError
from stacks.faults import dotted, explain
from stacks.values import Value

FOLDER: Final = Path(__file__).parent
# The parser of libyaml is ten times as fast, where this installation has it.
_YAML: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REQUIREMENT: Final = re.compile(r"(?m)^([\w.-]+)==([^\s;\\]+)")
ValueT = TypeVar("ValueT", bound=Value)


def load(folder: Path = FOLDER) -> Catalog:
    """Return the catalog in a folder: a file per entry, by kind (`models/`, `engines/` …).

    Raises:
        CatalogError: Something is wrong; lists every fault as `file: key: sentence`.
    """
    return _Reader(folder).catalog()


class _Reader:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._faults: list[str] = []

    def catalog(self) -> Catalog:
        """Return everything, or raise with everything that is wrong."""
        catalog = Catalog(
            models={name: self._model(name, facts) for name, facts in self._entries("models", ModelFacts)},
            families=dict(self._entries("accelerators", Family)),
            machines=dict(self._entries("machines", Machine)),
            fabrics=dict(self._entries("fabrics", Fabric)),
            engines={
                name: self._engine(name, facts) for name, facts in self._entries("engines", EngineFacts)
            },
            images=dict(self._entries("images", Image)),
        )
        # An entry that did not load would be missed by those that name it, which is no fault of theirs.
        if not self._faults:
            self._faults += mistakes(catalog)
        if self._faults:
            raise CatalogError(self._faults)
        return catalog

    def _entries(self, kind: str, model: type[ValueT]) -> Iterator[tuple[str, ValueT]]:
        for path in sorted((self._folder / kind).glob("*.yaml")):
            entry = self._value(f"{kind}/{path.name}", model)
            if entry is not None:
                yield path.stem, entry

    def _model(self, name: str, facts: ModelFacts) -> Model:
        checkpoints = {key: self._checkpoint(below) for key, below in facts.checkpoints.items()}
        return Model(name=name, facts=facts, checkpoints=checkpoints)

    def _checkpoint(self, facts: CheckpointFacts) -> Checkpoint:
        if isinstance(facts.manifest, Unpinned):
            return Checkpoint(facts=facts, manifest=facts.manifest)
        manifest = self._value(facts.manifest, Manifest)
        return Checkpoint(facts=facts, manifest=manifest or Unpinned(unpinned="it could not be read"))

    def _engine(self, name: str, facts: EngineFacts) -> Engine:
        variables, options = self._names(facts.variables), self._names(facts.options)
        return Engine(
            name=name,
            facts=facts,
            locks={arch: self._lock(lock) for arch, lock in facts.locks.items()},
            variables=frozenset(variables),
            options=frozenset(options),
            choices={key: choices for key, choices in {**variables, **options}.items() if choices},
        )

    def _names(self, file: str | None) -> dict[str, tuple[str, ...]]:
        """Return the names in a file, one on each line, with the values behind them."""
        lines = _lines(self._content(file) or "" if file else "")
        return {name: tuple(choices) for name, *choices in map(str.split, lines)}

    def _lock(self, facts: LockFile) -> Lock | Unpinned:
        if isinstance(facts.lock, Unpinned):
            return facts.lock
        text = self._content(facts.lock) or ""
        return Lock(
            # The project's root is two above this folder: stacks/catalog.
            path="/".join([*self._folder.parts[-2:], facts.lock]),
            digest=hashlib.sha256(text.encode()).hexdigest(),
            packages=dict(_REQUIREMENT.findall(text)),
        )

    def _value(self, file: str, model: type[ValueT]) -> ValueT | None:
        data = self._yaml(file)
        if data is None:
            return None
        try:
            # JSON, because strict models take its lists for tuples.
            return model.model_validate_json(json.dumps(data, default=str))
        except ValidationError as error:
            self._faults += [f"{file}: {_below(at)}{sentence}" for at, sentence in explain(error, model)]
            return None

    def _yaml(self, file: str) -> Mapping[str, object] | None:
        content = self._content(file)
        if content is None:
            return None
        try:
            data = yaml.load(content, _YAML)  # noqa: S506 - a safe loader, in C where there is one
        except yaml.YAMLError as error:
            self._faults.append(f"{file}: is not YAML: {' '.join(str(error).split())}; mend it there")
            return None
        if isinstance(data, dict):
            return data
        self._faults.append(f"{file}: must be a mapping of keys; see the other files beside it")
        return None

    def _content(self, file: str) -> str | None:
        try:
            return (self._folder / file).read_bytes().decode()
        except FileNotFoundError:
            self._faults.append(
                f"{file}: is missing from the catalog; restore the file or remove the entry that names it"
            )
        except UnicodeDecodeError as error:
            self._faults.append(f"{file}: byte {error.start} is not UTF-8; save the file as UTF-8")
        return None


def _below(at: tuple[int | str, ...]) -> str:
    return f"{dotted(at)}: " if at else ""


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]

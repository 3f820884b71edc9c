"""Reads the catalog's files; every fault of all of them is told at once."""

import hashlib
import json
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from stacks.catalog.entries import Catalog, Engine, EngineFacts, Image, Manifest, Model, ModelFacts
from stacks.errors import CatalogError
from stacks.faults import dotted, explain
from stacks.values import Value

FOLDER = Path(__file__).parent
ValueT = TypeVar("ValueT", bound=Value)


def load(folder: Path = FOLDER) -> Catalog:
    """Return the catalog in a folder (`models.yaml`, `engines.yaml`, `images.yaml`, `manifests/`, `locks/`).

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
            models=_present(
                {name: self._model(name, facts) for name, facts in self._entries("models", ModelFacts)}
            ),
            engines=_present(
                {name: self._engine(name, facts) for name, facts in self._entries("engines", EngineFacts)}
            ),
            images=dict(self._entries("images", Image)),
        )
        if self._faults:
            raise CatalogError(self._faults)
        return catalog

    def _model(self, name: str, facts: ModelFacts) -> Model | None:
        manifest = self._value(facts.manifest, (), self._yaml(facts.manifest), Manifest)
        return Model(name=name, facts=facts, checkpoint=manifest) if manifest else None

    def _engine(self, name: str, facts: EngineFacts) -> Engine | None:
        content = self._content(facts.lock)
        digest = hashlib.sha256(content or b"").hexdigest()
        # The project's root is two above this folder: stacks/catalog.
        lock = "/".join([*self._folder.parts[-2:], facts.lock])
        return None if content is None else Engine(name=name, facts=facts, lock=lock, lock_digest=digest)

    def _entries(self, kind: str, model: type[ValueT]) -> list[tuple[str, ValueT]]:
        file = f"{kind}.yaml"
        data = self._yaml(file)
        if data is not None and not isinstance(data, dict):
            self._faults.append(
                f"{file}: must be a mapping of names to entries; see the other files of the catalog"
            )
            return []
        found = [(name, self._value(file, (name,), entry, model)) for name, entry in (data or {}).items()]
        return [(name, entry) for name, entry in found if entry]

    def _value(self, file: str, at: tuple[str, ...], data: object, model: type[ValueT]) -> ValueT | None:
        if data is None:
            return None
        try:
            # JSON, because strict models take its lists for tuples.
            return model.model_validate_json(json.dumps(data, default=str))
        except ValidationError as error:
            faults = explain(error, model)
            self._faults += [f"{file}: {dotted((*at, *below))}: {sentence}" for below, sentence in faults]
            return None

    def _yaml(self, file: str) -> object:
        content = self._content(file)
        try:
            return yaml.safe_load(content or b"")
        except yaml.YAMLError as error:
            self._faults.append(f"{file}: is not YAML: {' '.join(str(error).split())}; mend it there")
            return None

    def _content(self, file: str) -> bytes | None:
        try:
            return (self._folder / file).read_bytes()
        except FileNotFoundError:
            self._faults.append(
                f"{file}: is missing from the catalog; restore the file or remove the entry that names it"
            )
            return None


def _present(entries: dict[str, ValueT | None]) -> dict[str, ValueT]:
    return {name: entry for name, entry in entries.items() if entry}

"""The catalog is read whole, or refused with every fault of all its files."""

import hashlib
import shutil
from pathlib import Path

import pytest

from stacks.catalog import Catalog, load
from stacks.errors import CatalogError
from tests.unit.stacks.cases import CASES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASES / "catalog", tmp_path / "stacks" / "catalog"))


def refusal(folder: Path) -> list[str]:
    with pytest.raises(CatalogError) as refusal:
        load(folder)
    return list(refusal.value.faults)


def test_entries_carry_what_their_files_say(catalog: Catalog) -> None:
    assert catalog.models["small"].checkpoint.files["model.safetensors"].size == 1_572_164
    assert catalog.images["bookworm-1"].packages == ("systemd",)


def test_a_lock_is_named_from_the_project_root_with_its_digest(folder: Path) -> None:
    engine = load(folder).engines["cpu-1.2.3"]
    assert engine.lock == "stacks/catalog/locks/cpu-1.2.3.lock"
    assert engine.lock_digest == hashlib.sha256((folder / "locks/cpu-1.2.3.lock").read_bytes()).hexdigest()


def test_the_shipped_catalog_is_sound() -> None:
    catalog = load()
    for engine in catalog.engines.values():
        image = catalog.images["bookworm-1"]
        assert set(engine.facts.packages) <= set(image.packages), "a lab host reaches no distribution mirror"


def test_every_fault_of_every_file_is_told_at_once(folder: Path) -> None:
    (folder / "models.yaml").write_text("small: {served_name: 3}\nother: 5\n")
    (folder / "images.yaml").write_text("- bookworm\n")
    (folder / "locks/cpu-1.2.3.lock").unlink()
    faults = refusal(folder)
    assert "models.yaml: small.served_name: 3 is a whole number, but it must be text" in faults
    assert "models.yaml: other: 5 is a whole number, but it must be a mapping of keys" in faults
    assert any(fault.startswith("models.yaml: small.manifest: is missing") for fault in faults)
    assert any(fault.startswith("images.yaml: must be a mapping of names to entries") for fault in faults)
    assert any(fault.startswith("locks/cpu-1.2.3.lock: is missing from the catalog") for fault in faults)


def test_a_hash_that_is_none_is_refused_with_its_file(folder: Path) -> None:
    (folder / "manifests/small.yaml").write_text(
        "revision: a\nfiles: {config.json: {size: 1, sha256: abc}}\n"
    )
    (fault,) = refusal(folder)
    assert fault.startswith("manifests/small.yaml: files.config.json.sha256: ")


def test_yaml_that_does_not_parse_is_named_with_line_and_column(folder: Path) -> None:
    (folder / "engines.yaml").write_text("cpu: [1\n")
    (fault,) = refusal(folder)
    assert fault.startswith("engines.yaml: is not YAML: ")
    assert "line 2, column 1" in fault

"""The catalog is read whole, or refused with every fault of all its files."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from stacks.catalog import Catalog, Lock, Manifest, Unpinned, load
from stacks.errors import CatalogError
from tests.unit.stacks.cases import CASES, cases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASES / "catalog", tmp_path / "stacks" / "catalog"))


def refusal(folder: Path) -> list[str]:
    with pytest.raises(CatalogError) as refusal:
        load(folder)
    return list(refusal.value.faults)


def change(path: Path, keys: str, value: object) -> None:
    """Set a key of a file, named by its place: `layouts.0.title`."""
    entry = yaml.safe_load(path.read_text())
    *above, last = [int(key) if key.isdigit() else key for key in keys.split("/")]
    at: Any = entry
    for key in above:
        at = at[key]
    at[last] = value
    path.write_text(yaml.safe_dump(entry))


def test_entries_carry_what_their_files_say(catalog: Catalog) -> None:
    manifest = catalog.models["small"].checkpoints["bf16"].manifest
    assert isinstance(manifest, Manifest)
    assert manifest.files["model.safetensors"].size == 1_572_164
    assert catalog.images["bookworm-2"].packages == ("systemd",)
    assert catalog.machines["lab-host"].fabrics == ("ethernet",)
    assert catalog.family("cpu") == "cpu"
    assert catalog.accelerator("cpu").formats == ("fp32", "bf16")


def test_an_accelerator_that_is_not_there_is_an_error(catalog: Catalog) -> None:
    with pytest.raises(KeyError):
        catalog.accelerator("abacus")


def test_a_lock_is_named_from_the_project_root_with_its_digest_and_packages(folder: Path) -> None:
    lock = load(folder).engines["cpu-1.2.3"].locks["x86_64"]
    assert lock == Lock(
        path="stacks/catalog/locks/cpu-1.2.3.lock",
        digest=hashlib.sha256((folder / "locks/cpu-1.2.3.lock").read_bytes()).hexdigest(),
        packages={"engine": "1.2.3"},
    )


def test_names_of_variables_are_read_without_the_heading(folder: Path) -> None:
    (folder / "names.txt").write_text("# how this was made\nVLLM_ONE\nTWO\n")
    assert load(folder).engines["cpu-1.2.3"].variables == frozenset()
    change(folder / "engines/cpu-1.2.3.yaml", "variables", "names.txt")
    assert load(folder).engines["cpu-1.2.3"].variables == {"VLLM_ONE", "TWO"}


def test_names_of_options_are_read_likewise(folder: Path) -> None:
    (folder / "names.txt").write_text("# how this was made\nport\nno-thing\n")
    assert load(folder).engines["cpu-1.2.3"].options == frozenset()
    change(folder / "engines/cpu-1.2.3.yaml", "options", "names.txt")
    assert load(folder).engines["cpu-1.2.3"].options == {"port", "no-thing"}


def test_behind_a_name_stand_the_only_values_that_it_takes(folder: Path) -> None:
    (folder / "options.txt").write_text("port\nkernel auto fast\n")
    (folder / "variables.txt").write_text("VLLM_ONE 0 1\n")
    change(folder / "engines/cpu-1.2.3.yaml", "options", "options.txt")
    change(folder / "engines/cpu-1.2.3.yaml", "variables", "variables.txt")
    engine = load(folder).engines["cpu-1.2.3"]
    assert engine.options == {"port", "kernel"}
    assert engine.variables == {"VLLM_ONE"}
    assert engine.choices == {"kernel": ("auto", "fast"), "VLLM_ONE": ("0", "1")}


def test_what_is_not_pinned_stays_so_with_its_reason(folder: Path) -> None:
    change(folder / "engines/cpu-1.2.3.yaml", "locks/x86_64/lock", {"unpinned": "no index"})
    change(folder / "models/small.yaml", "checkpoints/bf16/manifest", {"unpinned": "no hub"})
    catalog = load(folder)
    assert catalog.engines["cpu-1.2.3"].locks["x86_64"] == Unpinned(unpinned="no index")
    assert catalog.models["small"].checkpoints["bf16"].manifest == Unpinned(unpinned="no hub")


@pytest.mark.parametrize("case", cases("catalog-faults.yaml"))
def test_a_fault_is_one_sentence_with_file_and_key(case: dict[str, Any], folder: Path) -> None:
    for file, changes in case["change"].items():
        for keys, value in changes.items():
            change(folder / file, keys, value)
    assert refusal(folder) == case["faults"]


def test_every_fault_of_every_file_is_told_at_once(folder: Path) -> None:
    change(folder / "models/small.yaml", "served_name", 3)
    (folder / "models/other.yaml").write_text("5\n")
    (folder / "images/bookworm-2.yaml").write_text("- bookworm\n")
    (folder / "locks/cpu-1.2.3.lock").unlink()
    assert refusal(folder) == [
        "models/other.yaml: must be a mapping of keys; see the other files beside it",
        "models/small.yaml: served_name: 3 is a whole number, but it must be text in quotes",
        (
            "locks/cpu-1.2.3.lock: is missing from the catalog;"
            " restore the file or remove the entry that names it"
        ),
        "images/bookworm-2.yaml: must be a mapping of keys; see the other files beside it",
    ]


def test_a_hash_that_is_none_is_refused_with_its_file(folder: Path) -> None:
    change(folder / "manifests/small.yaml", "files/config.json/sha256", "abc")
    (fault,) = refusal(folder)
    assert fault.startswith("manifests/small.yaml: files.config.json.sha256: ")


def test_yaml_that_does_not_parse_is_named_with_line_and_column(folder: Path) -> None:
    (folder / "fabrics/ethernet.yaml").write_text("sources: {}\ntitle: [1\n")
    (fault,) = refusal(folder)
    assert fault.startswith("fabrics/ethernet.yaml: is not YAML: ")
    assert "line 3, column 1" in fault


def test_a_file_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "fabrics/ethernet.yaml").write_bytes(b"title: \xff\n")
    assert refusal(folder) == ["fabrics/ethernet.yaml: byte 7 is not UTF-8; save the file as UTF-8"]

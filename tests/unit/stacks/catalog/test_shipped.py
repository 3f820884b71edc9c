"""The shipped catalog: what every file of it must hold to, and figures that other pages quote."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from stacks import catalog
from stacks.catalog import Lock
from stacks.catalog.loader import FOLDER

CATALOG = catalog.load()
FILES = sorted(FOLDER.glob("*/*.yaml"))
# Files whose figures are our own: what hosts are made of, and hashes of files.
OURS = ("images", "manifests")
GPU_LOCKS = {str(arch): lock for arch, lock in CATALOG.engines["vllm-0.33.0-cu130"].locks.items()}


def test_every_file_is_an_entry() -> None:
    entries = [
        *(f"models/{name}" for name in CATALOG.models),
        *(f"accelerators/{name}" for name in CATALOG.families),
        *(f"machines/{name}" for name in CATALOG.machines),
        *(f"fabrics/{name}" for name in CATALOG.fabrics),
        *(f"engines/{name}" for name in CATALOG.engines),
        *(f"images/{name}" for name in CATALOG.images),
    ]
    named = [f"{path.parent.name}/{path.stem}" for path in FILES if path.parent.name != "manifests"]
    assert sorted(entries) == sorted(named)


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name not in OURS], ids=str)
def test_every_block_with_a_figure_has_a_source(path: Path) -> None:
    assert list(_unsourced(yaml.safe_load(path.read_text()))) == []


def _unsourced(entry: object, at: str = "", *, sourced: bool = False) -> Iterator[str]:
    """Yield the figures that no `source` stands beside or above; a layout names who ran it instead."""
    if isinstance(entry, Mapping):
        sourced = sourced or not {"source", "evidence"}.isdisjoint(entry)
        for key, below in entry.items():
            yield from _unsourced(below, f"{at}/{key}", sourced=sourced)
    elif isinstance(entry, list):
        for below in entry:
            yield from _unsourced(below, at, sourced=sourced)
    elif isinstance(entry, int | float) and not isinstance(entry, bool) and not sourced:
        yield f"{at}: {entry}"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_key_is_written_twice(path: Path) -> None:
    """YAML lets a second key replace the first one without a word."""
    assert list(_twice(yaml.compose(path.read_text(), yaml.CSafeLoader))) == []


def _twice(node: yaml.Node | None) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value]
        yield from {key for key in keys if keys.count(key) > 1}
        for _, below in node.value:
            yield from _twice(below)
    elif isinstance(node, yaml.SequenceNode):
        for below in node.value:
            yield from _twice(below)


def test_packages_of_the_lab_engines_are_in_the_lab_image() -> None:
    image = CATALOG.images["bookworm-1"]
    for engine in CATALOG.engines.values():
        if engine.facts.variant == "cpu":
            assert set(engine.facts.packages) <= set(image.packages), "a lab host reaches no mirror"


@pytest.mark.parametrize(
    ("accelerator", "memory"),
    [
        ("gb300", 288),
        ("gb200", 192),
        ("b300", 268),
        ("b200", 180),
        ("mi355x", 288),
        ("mi350x", 288),
        ("h200", 141),
        ("h100", 80),
        ("a100", 80),
    ],
)
def test_memory_of_an_accelerator_is_decimal(accelerator: str, memory: int) -> None:
    assert CATALOG.accelerator(accelerator).memory_bytes == memory * 10**9


def test_every_gpu_comes_in_a_machine() -> None:
    members = {member for family in CATALOG.families.values() for member in family.members}
    assert {machine.accelerator for machine in CATALOG.machines.values()} == members


def test_what_executes_natively_is_not_emulated() -> None:
    for family in CATALOG.families.values():
        for member in family.members.values():
            assert set(member.formats).isdisjoint(member.emulated)


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_gpu_lock_holds_what_the_design_says(arch: str) -> None:
    lock = GPU_LOCKS[arch]
    assert isinstance(lock, Lock)
    assert len(lock.packages) == 199
    expected = {
        "vllm": "0.33.0",
        "torch": "2.14.0",
        "nvidia-nccl-cu13": "2.30.7",
        "flashinfer-python": "0.7.2.post1",
        "transformers": "5.20.2",
        "fastsafetensors": "0.5.0",
    }
    assert expected.items() <= lock.packages.items()


@pytest.mark.parametrize("name", [name for name, engine in CATALOG.engines.items() if engine.variables])
def test_an_engine_reads_the_variables_that_its_own_file_sets(name: str) -> None:
    engine = CATALOG.engines[name]
    assert {each for each in engine.facts.env if each.startswith("VLLM_")} <= engine.variables
    assert engine.variables.isdisjoint(engine.facts.renamed)
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", each) for each in engine.variables)


def test_only_names_of_variables_that_exist_take_the_place_of_older_ones() -> None:
    for engine in CATALOG.engines.values():
        for instead in engine.facts.renamed.values():
            for variable in re.findall(r"VLLM_\w+", instead):
                assert variable in engine.variables

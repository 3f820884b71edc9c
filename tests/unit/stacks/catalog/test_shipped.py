"""The shipped catalog: what every file of it must hold to, and figures that other pages quote."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from stacks import catalog
from stacks.catalog import Lock
from stacks.catalog.loader import FOLDER
from stacks.config import parse
from stacks.planning import commands, plan
from stacks.planning.access import PACKAGES
from tests.factories.stacks import NAMES

CATALOG = catalog.load()
ROOM = FOLDER.parent
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
    image = CATALOG.images["bookworm-2"]
    for engine in CATALOG.engines.values():
        if engine.facts.variant == "cpu":
            needed = {*engine.facts.packages, *PACKAGES}
            assert needed <= set(image.packages), "a lab host reaches no mirror"


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


@pytest.mark.parametrize(
    ("machine", "pins"),
    [
        ("gb300-nvl4", {"nvidia-imex"}),
        ("gb200-nvl4", {"nvidia-imex"}),
        ("hgx-b300", {"nvidia-fabricmanager"}),
        ("hgx-b200", {"nvidia-fabricmanager"}),
        ("mi355x-8", set()),
    ],
)
def test_a_host_gets_what_belongs_on_its_kind(machine: str, pins: set[str]) -> None:
    assert set(CATALOG.machines[machine].pins) == pins


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


@pytest.mark.parametrize(
    ("accelerator", "tokens"),
    [("gb300", 16384), ("b200", 16384), ("h200", 8192), ("h100", 8192), ("a100", 2048)],
)
def test_the_default_step_is_the_one_of_the_accelerator(accelerator: str, tokens: int) -> None:
    assert CATALOG.engines["vllm-0.33.0-cu130"].facts.default_step(accelerator) == tokens


@pytest.mark.parametrize(("release", "count"), [("0.32.0", 406), ("0.33.0", 461)])
def test_engines_of_a_release_have_its_options(release: str, count: int) -> None:
    engines = [engine for engine in CATALOG.engines.values() if engine.facts.release == release]
    assert engines
    for engine in engines:
        assert len(engine.options) == count
        assert {"model", "tensor-parallel-size", "no-enable-prefix-caching"} <= engine.options
        assert ("disable-prefix-caching" in engine.options) == (release == "0.33.0")


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name not in OURS], ids=str)
def test_every_option_of_the_catalog_is_one_of_an_engine(path: Path) -> None:
    known = frozenset[str]().union(*(engine.options for engine in CATALOG.engines.values()))
    names = set(_option_names(yaml.safe_load(path.read_text())))
    assert names <= known


def _option_names(entry: object) -> Iterator[str]:
    """Yield names of engine options: keys of the blocks that hold them, whoever asks."""
    if isinstance(entry, Mapping):
        for key, below in entry.items():
            if key in {"flags", "tensor_flags", "prefill", "decode"} and isinstance(below, Mapping):
                yield from (
                    name for name, each in below.items() if isinstance(each, Mapping) and "why" in each
                )
            yield from _option_names(below)
    elif isinstance(entry, list):
        for below in entry:
            yield from _option_names(below)


@pytest.mark.parametrize("stack", NAMES, ids=str)
def test_every_command_has_options_of_its_engine_only(stack: str) -> None:
    config = parse(
        yaml.safe_load((ROOM / f"Pulumi.{stack}.yaml").read_text())["config"]["rackstack:fleet"], stack
    )
    fleet = plan(config, CATALOG, stack)
    addresses = {rank.host: rank.host for group in fleet.groups for rank in group.ranks}
    engine = CATALOG.engines[config.engine]
    known = engine.options
    for group in fleet.groups:
        for each in (*group.options, *group.env):
            assert str(each.value) in engine.choices.get(each.name, (str(each.value),)), each.name
    for command in commands(fleet, addresses):
        said = {each.removeprefix("--") for each in command.argv if each.startswith("--")}
        assert said
        assert said <= known


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

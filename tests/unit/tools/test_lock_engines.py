"""Locks are resolved for the hosts and proven to be installable there from wheels alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stacks import catalog
from stacks.catalog.engines import EngineFacts
from stacks.errors import Refusal
from tests.fakes.index import Index
from tests.fakes.loopback import Reply
from tools.lock import engines
from tools.lock.wheels import Target, hashes, named, requirements, wheels

COMMIT = "2f3f441f84bd5b35ec8aa9fcfffb540f107da8a7"
CUDA = catalog.load().engines["vllm-0.33.0-cu130"].facts
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return what writes the input of the engine `new`."""
    monkeypatch.setattr(engines, "INPUTS", tmp_path)
    (tmp_path / "new").mkdir()

    def write(**files: str) -> None:
        for name, text in files.items():
            (tmp_path / "new" / f"{name}.txt").write_text(text)

    return write


def facts(**changed: object) -> EngineFacts:
    """Return the facts of an engine of release 1.2.3."""
    return CUDA.model_copy(update={"release": "1.2.3", **changed})


def test_a_lock_is_for_the_hosts_of_the_pin_not_for_this_machine(index: Index, write: Write) -> None:
    write(**{"in": "vllm==1.2.3"})
    arm = index.add("vllm", "1.2.3", "cp38-abi3-manylinux_2_28_aarch64", needs=["small==1.0"])
    index.add("vllm", "1.2.3", "cp38-abi3-manylinux_2_28_x86_64", needs=["small==1.0"])
    index.add("small", "1.0", "cp312-cp312-manylinux_2_34_aarch64")
    lock = engines.resolve("new", facts(), "aarch64")
    assert [named(each) for each in requirements(lock)] == [("small", "1.0"), ("vllm", "1.2.3")]
    assert index.sha256(arm) in hashes(requirements(lock)[1])
    with pytest.raises(Refusal, match=r"small==1\.0 has no wheels with a matching platform tag"):
        engines.resolve("new", facts(), "x86_64")


def test_a_package_that_only_has_sources_is_refused(index: Index, write: Write) -> None:
    write(**{"in": "vllm==1.2.3"})
    index.add("vllm", "1.2.3", needs=["built"])
    index.add_source("built", "1.0")
    with pytest.raises(
        Refusal, match=r"^`uv pip compile` refused: .*built.* no usable wheels.*; mend the input"
    ):
        engines.resolve("new", facts(), "x86_64")


def test_what_is_overridden_and_left_out_stands_beside_the_input(index: Index, write: Write) -> None:
    write(**{"in": "vllm==1.2.3", "over": "torch==2.0", "out": "# why\nvision\n"})
    index.add("vllm", "1.2.3", needs=["torch==1.0", "vision"])
    index.add("torch", "2.0")
    index.add("vision", "1.0")
    lock = engines.resolve("new", facts(), "x86_64")
    assert [named(each) for each in requirements(lock)] == [("torch", "2.0"), ("vllm", "1.2.3")]


@pytest.mark.usefixtures("write")
def test_a_commit_comes_from_its_own_index_and_the_lock_says_so(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "INDEX", index.url)
    root = f"{COMMIT}/cu130"
    own = index.add("vllm", f"1.3.0.dev9+g{COMMIT[:9]}", needs=["small"], root=root)
    index.add("vllm", "1.2.3")
    index.add("small", "1.0")
    lock = engines.resolve("new", facts(commit=COMMIT), "x86_64")
    assert engines.indexes(lock) == [f"{index.url}/{root}"]
    target = Target("3.12", "x86_64-manylinux_2_28")
    found = wheels(requirements(lock), target, engines.indexes(lock))
    assert index.url + own in [wheel.url.replace("%2B", "+") for wheel in found]


@pytest.mark.usefixtures("write")
def test_a_commit_without_wheels_is_not_replaced_by_a_release(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "INDEX", index.url)
    index.add("vllm", "1.2.3")
    with pytest.raises(
        Refusal, match=rf"^new: resolves to 1\.2\.3, not to {COMMIT} for cu130; a wheel can lag"
    ):
        engines.resolve("new", facts(commit=COMMIT), "x86_64")


def rocm(index: Index, monkeypatch: pytest.MonkeyPatch, *variants: str) -> EngineFacts:
    """Put a build for each variant of ROCm, and the one for CUDA, where they really are."""
    monkeypatch.setattr(engines, "INDEX", index.url)
    for variant in variants:
        index.add("vllm", f"1.2.3+{variant}", root=f"rocm/1.2.3/{variant}")
    index.add("vllm", "1.2.3")
    return facts(variant="rocm")


def test_the_only_rocm_of_a_release_is_taken(
    index: Index, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(**{"in": "vllm==1.2.3"})
    lock = engines.resolve("new", rocm(index, monkeypatch, "rocm100"), "x86_64")
    assert named(requirements(lock)[0]) == ("vllm", "1.2.3+rocm100")


def test_of_several_rocms_a_person_chooses(
    index: Index, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = rocm(index, monkeypatch, "rocm100", "rocm721")
    write(**{"in": "vllm==1.2.3"})
    with pytest.raises(
        Refusal, match=r"has rocm100, rocm721 where one is needed; write .*tools/wheels/new/in\.txt"
    ):
        engines.resolve("new", pin, "x86_64")
    write(**{"in": "vllm==1.2.3+rocm721"})
    assert "vllm==1.2.3+rocm721" in engines.resolve("new", pin, "x86_64")


def test_the_build_for_cuda_is_no_lock_for_rocm(
    index: Index, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(**{"in": "vllm==1.2.3"})
    pin = rocm(index, monkeypatch, "rocm100")
    index.faults["/rocm/1.2.3/rocm100/vllm/"] = [Reply(404)] * 9
    with pytest.raises(Refusal, match=r"^new: resolves to 1\.2\.3, not to 1\.2\.3 for rocm"):
        engines.resolve("new", pin, "x86_64")


def test_another_release_than_the_pins_is_refused(index: Index, write: Write) -> None:
    write(**{"in": "vllm"})
    index.add("vllm", "1.2.4")
    with pytest.raises(Refusal, match=r"^new: resolves to 1\.2\.4, not to 1\.2\.3 for cu130"):
        engines.resolve("new", facts(), "x86_64")


@pytest.mark.usefixtures("write")
def test_no_input_is_one_sentence(index: Index) -> None:
    with pytest.raises(Refusal, match=r"^new: there is no tools/wheels/new/in\.txt to resolve"):
        engines.resolve("new", facts(), "x86_64")
    assert index.asked == []


@pytest.mark.parametrize(
    ("reply", "said"),
    [(Reply(503), "503"), (Reply(401), "401"), (Reply(429), "429"), (Reply(body=b"{", cut=1), "")],
)
def test_an_index_that_fails_is_one_sentence(index: Index, write: Write, reply: Reply, said: str) -> None:
    write(**{"in": "vllm==1.2.3"})
    index.add("vllm", "1.2.3")
    index.faults["/simple/vllm/"] = [reply] * 9
    with pytest.raises(Refusal, match=rf"^`uv pip compile` refused: [^\n]*{said}[^\n]*then run again$"):
        engines.resolve("new", facts(), "x86_64")


@pytest.mark.usefixtures("index")
def test_an_index_that_is_away_is_one_sentence(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(**{"in": "vllm==1.2.3"})
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(Refusal, match=r"^`uv pip compile` refused: [^\n]*Connection refused"):
        engines.resolve("new", facts(), "x86_64")


def test_a_lock_whose_wheels_are_for_newer_hosts_names_them_all(index: Index) -> None:
    paths = [index.add(name, "1.0", "cp38-abi3-manylinux_2_34_aarch64") for name in ("one", "two")]
    wanted = [
        f"{name}==1.0 \\\n    --hash=sha256:{index.sha256(path)}"
        for name, path in zip(("one", "two"), paths, strict=True)
    ]
    index.add_source("one", "1.0")
    index.add_source("two", "1.0")
    assert len(wheels(wanted, Target("3.12", "aarch64-manylinux_2_34"), [])) == 2
    with pytest.raises(
        Refusal, match=r"^one 1\.0, two 1\.0: the index has no wheel .* aarch64-manylinux_2_28; raise"
    ):
        wheels(wanted, Target("3.12", "aarch64-manylinux_2_28"), [])


def test_a_wheel_that_changed_since_is_not_taken(index: Index) -> None:
    path = index.add("one", "1.0")
    wanted = [f"one==1.0 \\\n    --hash=sha256:{index.sha256(path)}"]
    index.files[path] += b" "
    with pytest.raises(Refusal, match=r"one"):
        wheels(wanted, Target("3.12", "x86_64-manylinux_2_28"), [])


def test_the_wheel_that_fits_best_is_taken(index: Index) -> None:
    tags = (
        "py3-none-any",
        "cp38-abi3-manylinux_2_17_x86_64",
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp312-cp312-win_amd64",
    )
    paths = [index.add("one", "1.0", each) for each in tags]
    lines = " \\\n".join(f"    --hash=sha256:{index.sha256(path)}" for path in paths)
    (found,) = wheels([f"one==1.0 \\\n{lines}"], Target("3.12", "x86_64-manylinux_2_28"), [])
    assert found.file == "one-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    assert (found.size, found.sha256) == (len(index.files[paths[2]]), index.sha256(paths[2]))

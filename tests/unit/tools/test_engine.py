"""Which Pulumi engine is taken."""

import tarfile
from pathlib import Path

import pytest

from stacks.errors import Refusal
from tools.bootstrap import engine


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache and nothing but `/bin` beside the folder that is returned on PATH."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("RACKSTACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{programs}:/bin")
    return programs


def install(folder: Path, version: str, programs: tuple[str, ...] = engine.PROGRAMS) -> None:
    for program in programs:
        (folder / program).write_text(f"#!/bin/sh\necho v{version}\n")
        (folder / program).chmod(0o755)


@pytest.mark.parametrize("version", ["3.272.0", "3.300.1", "4.0.0-beta"])
def test_a_new_enough_engine_on_path_is_taken(bare_machine: Path, version: str) -> None:
    install(bare_machine, version)
    assert engine.find() == bare_machine


@pytest.mark.parametrize("version", ["3.271.9", "2.99.0", "", "dev"])
def test_an_old_or_nameless_engine_on_path_is_passed_over(bare_machine: Path, version: str) -> None:
    install(bare_machine, version)
    assert engine.find() is None


def test_an_engine_without_its_python_language_host_is_passed_over(bare_machine: Path) -> None:
    install(bare_machine, engine.VERSION, engine.PROGRAMS[:1])
    assert engine.find() is None


def test_a_release_is_unpacked_only_with_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, engine.VERSION)
    archive = tmp_path / "release.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for program in engine.PROGRAMS:
            tar.add(tmp_path / program, f"pulumi/{program}")

    def download(url: str, target: Path) -> None:
        name = f"pulumi-v{engine.VERSION}-linux-x64.tar.gz"
        target.write_bytes(f"{'0' * 64}  {name}\n".encode() if url.endswith("txt") else archive.read_bytes())

    monkeypatch.setattr(engine, "_download", download)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    with pytest.raises(Refusal, match=r"checksum.*there is no Go: put pulumi 3\.272\.0 or newer on PATH"):
        engine.ensure()
    assert engine.find() is None


def test_where_nothing_can_be_had_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(url: str, _: Path) -> None:
        raise TimeoutError(f"{url} did not answer")

    monkeypatch.setattr(engine, "_download", unreachable)
    with pytest.raises(Refusal, match=r"cannot be had \(.* did not answer\) and there is no Go") as caught:
        engine.ensure()
    assert "\n" not in str(caught.value)

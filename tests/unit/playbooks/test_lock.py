"""The lock of a fleet on a host, and whether a run of this machine is alive."""

import json
import os
from pathlib import Path

import pytest

from tests.unit.playbooks.files import program

lock = program("roles/lock/files/lock.py")
controller = program("lookup_plugins/controller.py")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    return tmp_path


def test_a_lock_is_refused_to_others_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock.main("take", "lab", "serve", "one", "here/boot/7/9") == 0
    assert lock.main("take", "lab", "engine", "two", "there/boot/8/9") == lock.REFUSED
    (holder,) = json.loads(capsys.readouterr().out)
    assert (holder["owner"], holder["name"], holder["controller"]) == ("one", "serve", "here/boot/7/9")


@pytest.mark.parametrize("name", ["prepare", "engine", "checkpoint", "access", "serve"])
def test_the_owner_may_take_its_lock_again(name: str) -> None:
    assert lock.main("take", "lab", name, "one", "here") == 0
    assert lock.main("take", "lab", name, "one", "here") == 0


def test_engine_checkpoint_and_access_run_side_by_side_and_nothing_else_does(root: Path) -> None:
    assert lock.main("take", "lab", "engine", "one", "here") == 0
    assert lock.main("take", "lab", "checkpoint", "two", "here") == 0
    assert lock.main("take", "lab", "access", "three", "here") == 0
    assert lock.main("take", "lab", "serve", "four", "here") == lock.REFUSED
    assert lock.main("take", "lab", "access", "five", "here") == lock.REFUSED
    assert {file.stem for file in (root / "lab").iterdir()} == {"engine", "checkpoint", "access"}


@pytest.mark.parametrize("name", ["prepare", "serve"])
def test_prepare_and_serve_run_alone(name: str) -> None:
    assert lock.main("take", "lab", name, "one", "here") == 0
    for other in ("prepare", "engine", "checkpoint", "access", "serve"):
        assert lock.main("take", "lab", other, "two", "here") == lock.REFUSED


def test_ended_owners_are_displaced(root: Path) -> None:
    lock.main("take", "lab", "engine", "one", "here")
    lock.main("take", "lab", "checkpoint", "two", "here")
    assert lock.main("take", "lab", "serve", "three", "here", "one") == lock.REFUSED
    assert lock.main("take", "lab", "serve", "three", "here", "one", "two") == 0
    assert [file.name for file in (root / "lab").iterdir()] == ["serve.json"]


def test_only_the_owner_releases_and_leaves_nothing(root: Path) -> None:
    lock.main("take", "lab", "engine", "one", "here")
    assert lock.main("release", "lab", "engine", "two", "here") == 0
    assert (root / "lab/engine.json").exists()
    assert lock.main("release", "lab", "engine", "one", "here") == 0
    assert not root.exists()


def test_fleets_do_not_see_one_another() -> None:
    assert lock.main("take", "lab", "engine", "one", "here") == 0
    assert lock.main("take", "other", "engine", "two", "here") == 0


def test_a_running_process_is_alive_and_a_reused_number_is_not() -> None:
    own = controller.identity(os.getpid())
    machine, boot, pid, start = own.split("/")
    assert controller.state(own) == "alive"
    assert controller.state(f"{machine}/{boot}/{pid}/{int(start) + 1}") == "ended"
    assert controller.state(f"{machine}/other-boot/{pid}/{start}") == "ended"
    assert controller.state(f"another/{boot}/{pid}/{start}") == "elsewhere"


def test_a_process_that_is_gone_has_ended() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    gone = controller.identity(child)
    os.waitpid(child, 0)
    assert controller.state(gone) == "ended"

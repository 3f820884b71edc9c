"""Packages at exact releases: what is stale, which version is chosen, what is said where there is none."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.playbooks.files import program

packages = program("roles/packages/files/packages.py")
MADISON = """nvidia-imex | 580.178.04-0ubuntu1 | http://mirror/apt ./ Packages
nvidia-imex | 580.126.20-0ubuntu1 | http://mirror/apt ./ Packages
nvidia-imex | 580.126.20-0ubuntu1 | http://other/apt ./ Packages
"""


class Host:
    """A host whose tools are played back.

    Attributes:
        there: What `dpkg-query` prints.
        offered: Package → what `apt-cache madison` prints.
        said: Every command that was run.
    """

    def __init__(self) -> None:
        self.there = ""
        self.offered: dict[str, str] = {}
        self.said: list[tuple[str, ...]] = []

    def run(self, *command: str) -> Any:
        """Answer as the tool does."""
        self.said.append(command)
        answers = {"dpkg-query": self.there, "apt-cache": self.offered.get(command[-1], "")}
        moves = command[0] == "apt-get" and {"install", "purge"} & set(command)
        fails = bool(moves) and "broken" in " ".join(command)
        return type(
            "Done",
            (),
            {"stdout": answers.get(command[0], ""), "stderr": "E: it is broken\n", "returncode": int(fails)},
        )


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Host:
    made = Host()
    monkeypatch.setattr(packages, "run", made.run)
    monkeypatch.setattr(packages, "FOUND", tmp_path / "found.json")
    monkeypatch.setattr(packages, "PROGRAM", tmp_path / "packages.py")
    monkeypatch.setattr(packages, "PREFERENCES", f"{tmp_path}/60-")
    return made


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("580.126.20-0ubuntu1", "580.126.20"),
        ("1:4.4.1-1", "4.4.1"),
        ("580.126.20", "580.126.20"),
        ("1.2-rc1-3", "1.2-rc1"),
    ],
)
def test_a_release_is_a_version_without_epoch_and_revision(version: str, release: str) -> None:
    assert packages.upstream(version) == release


def test_what_is_absent_moved_or_not_held_is_told(host: Host) -> None:
    host.there = (
        "a hold installed 1.0-1\nb hold installed 2.0-1\nc install installed 1.0-1\nd hold config-files 1\n"
    )
    seen = packages.looked({"a": "1.0", "b": "1.0", "c": "1.0", "d": "1.0", "e": ""})
    assert seen["stale"] == [
        "package b is 2.0-1, the plan says 1.0",
        "package c 1.0-1 is not held, so an upgrade may move it",
        "package d 1.0 is not installed",
        "package e is not installed",
    ]
    assert seen["versions"] == {"a": "1.0-1", "b": "2.0-1", "c": "1.0-1"}


def test_the_newest_revision_of_the_release_is_taken_and_held(host: Host) -> None:
    host.offered = {"nvidia-imex": MADISON}
    assert packages.ensure({"nvidia-imex": "580.126.20"}) == ""
    install, hold = host.said[-2:]
    assert install[-1] == "nvidia-imex=580.126.20-0ubuntu1"
    assert hold == ("apt-mark", "hold", "nvidia-imex")


def test_what_is_there_at_its_release_is_only_held(host: Host) -> None:
    host.there = "nvidia-imex install installed 580.126.20-0ubuntu9\n"
    assert packages.ensure({"nvidia-imex": "580.126.20"}) == ""
    assert not any("install" in command for command in host.said)
    assert host.said[-1] == ("apt-mark", "hold", "nvidia-imex")


def test_a_package_without_a_release_keeps_the_version_that_was_found(host: Host) -> None:
    host.there = "nvlsm install installed 1-1\n"
    host.offered = {"nvlsm": "nvlsm | 2-1 | source\n"}
    assert packages.ensure({"nvlsm": ""}) == ""
    assert not any("install" in command for command in host.said)


def test_every_release_that_no_source_has_is_named_with_those_that_are_there(host: Host) -> None:
    host.offered = {"nvidia-imex": MADISON}
    said = packages.ensure({"nvidia-imex": "580.1", "nvlsm": ""})
    assert said.startswith(
        "package nvidia-imex 580.1 is in no package source of this host (they have 580.178.04-0ubuntu1,"
        " 580.126.20-0ubuntu1): bring it into the mirror"
    )
    assert "package nvlsm is in no package source of this host (they have none of it)" in said
    assert said.endswith("; apt-get says: it is broken")


@pytest.mark.parametrize("wanted", ["580", "580.126"])
def test_the_beginning_of_a_release_is_another_release(host: Host, wanted: str) -> None:
    host.offered = {"nvidia-imex": MADISON}
    host.there = "nvidia-imex hold installed 580.126.20-0ubuntu1\n"
    assert packages.looked({"nvidia-imex": wanted})["stale"] == [
        f"package nvidia-imex is 580.126.20-0ubuntu1, the plan says {wanted}"
    ]
    assert packages.ensure({"nvidia-imex": wanted}).startswith(
        f"package nvidia-imex {wanted} is in no package source of this host (they have 580.178.04-0ubuntu1,"
    )


def test_what_apt_refuses_is_quoted(host: Host) -> None:
    host.offered = {"broken": "broken | 1-1 | source\n"}
    assert (
        packages.ensure({"broken": "1"}) == "apt-get could not install broken=1-1; apt-get says: it is broken"
    )


def test_the_way_back_leads_to_what_was_found(host: Host) -> None:
    host.there = "old hold installed 1-1\nfree install installed 1-1\n"
    host.offered = {name: f"{name} | 2-1 | source\n" for name in ("old", "free", "new")}
    wish = dict.fromkeys(("old", "free", "new"), "2")
    assert packages.ensure(wish) == ""
    host.there = "old hold installed 2-1\nfree hold installed 2-1\nnew hold installed 2-1\n"
    host.said.clear()
    packages.PROGRAM.touch()
    assert packages.release(stay=False) is True
    assert not packages.PROGRAM.exists()
    assert host.said[1:] == [
        ("apt-mark", "unhold", "free", "new"),
        (*packages.APT, "--allow-change-held-packages", "purge", "new"),
    ]
    assert not packages.FOUND.exists()


def test_drivers_that_are_kept_only_lose_their_hold(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.offered = {"new": "new | 2-1 | source\n"}
    packages.ensure({"new": "2"})
    host.there = "new hold installed 2-1\n"
    host.said.clear()
    assert packages.main("release", "true") == 0
    assert capsys.readouterr().out == "changed\n"
    assert host.said[1:] == [("apt-mark", "unhold", "new")]


def test_packages_that_do_not_go_are_told_and_known_until_they_went(host: Host) -> None:
    host.offered = {"new": "new | 2-1 | source\n"}
    packages.ensure({"new": "2"})
    packages.remember({}, ["broken"])
    host.there = "new hold installed 2-1\nbroken install installed 2-1\n"
    known = packages.read_found()
    with pytest.raises(
        SystemExit, match=r"^apt-get could not remove new, broken; apt-get says: it is broken; "
    ):
        packages.release(stay=False)
    assert packages.read_found() == known == {"new": [], "broken": []}


def test_a_record_that_cannot_be_written_leaves_the_one_that_is_there(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.there = "old install installed 1-1\n"
    packages.remember(packages.installed(["old"]), ["old"])

    def full(path: Path, text: str, **_: str) -> None:
        path.write_bytes(text[:3].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        packages.remember({}, ["new"])
    assert packages.read_found() == {"old": ["1-1", False]}

"""Where no lab can run, one sentence says what is missing and what still works."""

from pathlib import Path

import pytest

from stacks.errors import Refusal
from tools.bootstrap import packages


def test_another_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(Refusal, match=r"^the lab cannot run here: .*Darwin.*`make unit`.* work here$"):
        packages.ensure()


def test_everything_in_the_way_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    who, what = packages.obstacles()
    assert "root" in who
    assert what.startswith("debootstrap, iproute2, nftables, openssh-client, systemd-container not installed")


def test_root_with_apt_installs_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >>{asked}\n')
    apt.chmod(0o755)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    packages.ensure()
    assert asked.read_text().splitlines()[0] == "-q update"
    assert "systemd-container" in asked.read_text().splitlines()[1]

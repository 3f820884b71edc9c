"""Where no lab can run, one sentence says what is missing and what still works."""

import sys
from pathlib import Path

import pytest

from components.machines.lab import able
from stacks.errors import Refusal
from tools.bootstrap import packages


def test_another_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(Refusal, match=r"^the lab cannot run here: .*darwin.*`make unit`.* work here$"):
        packages.ensure()


def test_everything_in_the_way_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(able, "_mounts", list)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    who, kernel, what = packages.obstacles()
    assert "root" in who
    assert "control groups" in kernel
    assert what.startswith(
        "debootstrap, iproute2, mount, openssh-client, systemd-container, util-linux not installed"
    )


def test_root_in_an_ordinary_container_is_told_before_anything_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(able, "_effective_capabilities", lambda: 0)
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    with pytest.raises(Refusal, match=r"CAP_NET_ADMIN.*CAP_SYS_ADMIN, which root lacks here"):
        packages.ensure()


def test_root_with_apt_installs_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >>{asked}\n')
    apt.chmod(0o755)
    monkeypatch.setattr(able, "obstacles", list)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    packages.ensure()
    assert asked.read_text().splitlines()[0] == "-q update"
    assert "systemd-container" in asked.read_text().splitlines()[1]

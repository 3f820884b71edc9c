"""What a machine lacks for the lab, in sentences."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from components.machines.lab import able

if TYPE_CHECKING:
    import pytest


def test_another_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "lab hosts need Linux, and this is darwin; use a Linux machine" in able.missing()


def test_a_user_without_rights_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "lab hosts need root, and this user has id 1000; run it with sudo" in able.missing()


def test_a_missing_command_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda command: None if command == "systemd-nspawn" else command)
    sentence = "lab hosts need the command systemd-nspawn; install the package systemd-container"
    assert sentence in able.missing()


def test_root_without_the_rights_of_root_is_told_each_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(able, "_effective_capabilities", lambda: 1 << 12)
    named = [each for each in able.obstacles() if "CAP_" in each]
    assert named == [
        "lab hosts need CAP_SYS_ADMIN, which root lacks here; leave the container or make it privileged"
    ]


def test_a_missing_command_is_no_obstacle_as_a_package_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = able.obstacles()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert able.obstacles() == before
    assert len(able.missing()) == len(before) + len(able.PACKAGES)

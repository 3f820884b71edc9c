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
    assert able.missing() == ["lab hosts need Linux, and this is darwin; use a Linux machine"]


def test_a_user_without_rights_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "lab hosts need root, and this user has id 1000; run it with sudo" in able.missing()


def test_a_missing_command_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda command: None if command == "systemd-nspawn" else command)
    sentence = "lab hosts need the command systemd-nspawn; install the package systemd-container"
    assert sentence in able.missing()

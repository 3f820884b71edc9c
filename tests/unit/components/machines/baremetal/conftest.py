"""Machines that the tests of this folder claim; stand-ins all of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from components.hosts import ssh
from tests.factories.baremetal import ADDRESS, World

if TYPE_CHECKING:
    from pathlib import Path

    from tests.factories.baremetal import Machine


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    made = World(tmp_path, monkeypatch, capsys)
    monkeypatch.setattr(ssh, "run", made.run)
    return made


@pytest.fixture
def machine(world: World) -> Machine:
    return world.add(ADDRESS, time.time())

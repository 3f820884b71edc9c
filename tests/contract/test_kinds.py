"""What holds for every resource kind, today's and later ones."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from components.plugin.kind import Inputs, Kind, Outputs
from components.plugin.operations import DRIFT
from components.plugin.registry import KINDS, kind_of

HEAVY = ("pulumi", "grpc", "paramiko", "ansible_runner", "boto3", "cryptography", "stacks.planning")

pytestmark = pytest.mark.parametrize("token", sorted(KINDS))


def _kind(token: str) -> Kind[Any, Any]:
    return kind_of(token)


def test_the_class_answers_for_the_token_it_is_registered_under(token: str) -> None:
    assert _kind(token).token == token


def test_inputs_and_outputs_are_frozen_and_typed(token: str) -> None:
    kind = _kind(token)
    assert issubclass(kind.inputs, Inputs)
    assert issubclass(kind.outputs, Outputs)
    assert kind.inputs.model_config["frozen"]
    assert kind.outputs.model_config["frozen"]


def test_inputs_refuse_unknown_keys_and_leave_the_drift_to_the_plugin(token: str) -> None:
    assert _kind(token).inputs.model_config["extra"] == "forbid"
    assert DRIFT not in _kind(token).inputs.model_fields


def test_inputs_and_outputs_share_no_name(token: str) -> None:
    kind = _kind(token)
    assert not set(kind.inputs.model_fields) & set(kind.outputs.model_fields)


def test_what_replaces_is_an_input_and_what_is_stable_an_output(token: str) -> None:
    kind = _kind(token)
    assert kind.replace_on <= set(kind.inputs.model_fields)
    assert kind.stable <= set(kind.outputs.model_fields)


def test_the_fleet_is_an_input(token: str) -> None:
    assert "fleet" in _kind(token).inputs.model_fields


def test_importing_the_class_imports_nothing_heavy(token: str) -> None:
    module = KINDS[token].split(":")[0]
    program = f"import sys, {module}; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []

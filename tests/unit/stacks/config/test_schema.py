"""Editors see the same rules as the program."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # ships no types
import pytest
import yaml

from stacks.config.schema import main, stack_file_schema
from tests.factories.stacks import FILES

STACKS = Path(__file__).parents[4] / "stacks"


def test_the_committed_schema_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    current = capsys.readouterr().out
    assert (STACKS / "fleet.schema.json").read_text() == current, "run `make schema`"


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(stack_file_schema())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_stack_file_names_the_schema_and_fulfils_it(file: Path) -> None:
    assert file.read_text().startswith("# yaml-language-server: $schema=fleet.schema.json\n")
    jsonschema.validate(
        yaml.safe_load(file.read_text()), json.loads((STACKS / "fleet.schema.json").read_text())
    )


@pytest.fixture
def stack_file() -> Any:
    return yaml.safe_load((STACKS / "Pulumi.lab.yaml").read_text())


def test_keys_of_pulumi_and_other_packages_are_allowed(stack_file: Any) -> None:
    stack_file["encryptionsalt"] = "v1:abc"
    stack_file["config"]["rackstack:apiKey"] = {"secure": "v1:abc"}
    jsonschema.validate(stack_file, stack_file_schema())


@pytest.mark.parametrize("change", [{"count": 0}, {"count": "2"}, {"host": 2}, {"provider": "aws"}])
def test_a_wrong_fleet_is_underlined(stack_file: Any, change: dict[str, Any]) -> None:
    stack_file["config"]["rackstack:fleet"]["machines"] |= change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(stack_file, stack_file_schema())

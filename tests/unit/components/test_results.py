"""What a stack's outputs say of its plan, for every stack that ships."""

import json

import pytest

from components import results
from tests.factories import stacks


@pytest.mark.parametrize("name", stacks.NAMES)
def test_outputs_of_the_plan_are_data_that_pulumi_can_keep(name: str) -> None:
    plan = stacks.planned(name)
    told = results.of_the_plan(plan)
    commands = results.commands(plan, {host.name: host.name for host in plan.hosts})
    assert json.loads(json.dumps([told, commands])) == [told, commands]
    assert told["model"] == plan.served_name
    assert told["evidence"]
    assert told["plan"].startswith(f"# {name}: ")
    assert {command["host"] for command in commands} == {host.name for host in plan.hosts}


def test_a_contract_says_what_a_client_has_to_set() -> None:
    contract = results.of_the_plan(stacks.planned("qwen38-gb300-fp8"))["contract"]
    assert contract["reasoning_parser"] == "qwen3"
    assert contract["efforts"][0] == "xhigh"
    assert contract["sampling"]["top_k"] == 20
    assert contract["timeout"] == 3600

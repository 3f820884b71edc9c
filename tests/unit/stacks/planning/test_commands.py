"""The command of every rank."""

from typing import Any

import pytest

from stacks.catalog import Catalog
from stacks.config import parse
from stacks.planning import FleetPlan, commands, plan
from tests.unit.stacks.cases import cases, fleet


@pytest.mark.parametrize("case", cases("planning/commands.yaml"))
def test_command_and_environment_of_every_rank(case: dict[str, Any], catalog: Catalog) -> None:
    size = case["tensor_parallel"]
    config = parse(fleet({"set": {"machines.hosts": size, "layout.tensor_parallel": size}}), "test")
    planned = plan(config, catalog, "lab")
    found = commands(planned, addresses(planned))
    lock = planned.engine.lock_digest[:12]
    expected = [
        rank | {"argv": [word.replace("LOCK", lock) for word in rank["argv"]]} for rank in case["ranks"]
    ]
    assert [{"host": one.host, "argv": list(one.argv), "env": one.env} for one in found] == expected


def test_ranks_come_in_order_with_the_head_first(two_hosts: FleetPlan) -> None:
    assert [command.rank for command in commands(two_hosts, addresses(two_hosts))] == [0, 1]


def addresses(planned: FleetPlan) -> dict[str, str]:
    return {host.name: f"10.0.0.{10 + index}" for index, host in enumerate(planned.hosts)}

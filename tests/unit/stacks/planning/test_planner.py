"""What the plan holds beside the commands."""

from pathlib import Path

import pytest
import yaml

from stacks.catalog import Catalog, load
from stacks.config import KEY, parse
from stacks.planning import FleetPlan, plan
from tests.unit.stacks.cases import fleet

STACK_FILES = sorted((Path(__file__).parents[4] / "stacks").glob("Pulumi.*.yaml"))
EPHEMERAL = range(32768, 61000)
"""Linux's default `net.ipv4.ip_local_port_range`."""


@pytest.mark.parametrize("file", STACK_FILES, ids=lambda file: file.name)
def test_each_shipped_stack_can_be_planned(file: Path) -> None:
    config = parse(yaml.safe_load(file.read_text())["config"][KEY], file.name)
    assert plan(config, load(), file.name.split(".")[1]).ranks


def test_ports_are_distinct_and_outside_the_ephemeral_range(two_hosts: FleetPlan) -> None:
    ports = two_hosts.ports
    assert len({ports.http, ports.rendezvous, ports.internal}) == 3
    assert not {ports.http, ports.rendezvous, *range(ports.internal, ports.internal + 1000)} & set(EPHEMERAL)


def test_ranks_share_no_core(catalog: Catalog) -> None:
    planned = plan(parse(fleet({"set": {"machines.cpus": 3}}), "test"), catalog, "lab")
    assert [(rank.host, rank.core) for rank in planned.ranks] == [("host-0", 0), ("host-1", 3)]


def test_the_name_of_the_secret_is_passed_on(catalog: Catalog) -> None:
    assert plan(parse(fleet({"set": {"api_key": "apiKey"}}), "test"), catalog, "lab").api_key == "apiKey"


def test_deadlines_grow_with_the_bytes(two_hosts: FleetPlan) -> None:
    assert two_hosts.budget.model_dump() == {
        "prepare": 300.0,
        "engine": 4000 / 20 + 300,
        "checkpoint": 2 / 20 + 120,
        "serve": 180.0,
        "ready": 2 / 50 + 600,
    }


def test_kv_cache_holds_one_longest_sequence(catalog: Catalog) -> None:
    long = catalog.models["small"].facts.model_copy(update={"max_positions": 2**22})
    models = {"small": catalog.models["small"].model_copy(update={"facts": long})}
    config = parse(fleet({"set": {"context": 2**21 + 1, "machines.memory_gib": 8}}), "test")
    # 2 (keys, values) x 2 layers x 2 heads of the rank x 64 x 2 bytes = 1 KiB a token.
    assert plan(config, catalog.model_copy(update={"models": models}), "lab").kv_cache_gib == 3


def test_nothing_here_claims_a_gpu(two_hosts: FleetPlan) -> None:
    assert any("nothing here was run by us on a GPU" in warning for warning in two_hosts.warnings)

"""The stand-in catalog, and plans made with it."""

import pytest

from stacks.catalog import Catalog, load
from stacks.config import parse
from stacks.planning import FleetPlan, plan
from tests.unit.stacks.cases import CASES, FLEET


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load(CASES / "catalog")


@pytest.fixture(scope="session")
def two_hosts(catalog: Catalog) -> FleetPlan:
    return plan(parse(FLEET, "stacks/Pulumi.lab.yaml"), catalog, "lab")

"""Plans to report on: made up in every shape, and those of the stacks that ship."""

from pathlib import Path

import pytest

from stacks.config import Parallelism
from stacks.planning import FleetPlan
from tests.factories.plans import NODE, NVLINK, RDMA, TRAY, engine, fleet
from tests.factories.stacks import NAMES, planned

ROOT = Path(__file__).parents[4]

_WIDE = Parallelism(data_parallel=16, expert_parallel=True)
MADE_UP = {
    "two trays": fleet(TRAY, NVLINK, [engine(TRAY, Parallelism(tensor_parallel=8))]),
    "one node": fleet(NODE, NVLINK, [engine(NODE, Parallelism(tensor_parallel=8))]),
    "two nodes": fleet(NODE, RDMA, [engine(NODE, Parallelism(tensor_parallel=8, pipeline_parallel=2))]),
    "three trays": fleet(TRAY, NVLINK, [engine(TRAY, Parallelism(tensor_parallel=4, pipeline_parallel=3))]),
    "idle GPUs": fleet(TRAY, NVLINK, [engine(TRAY, Parallelism(tensor_parallel=2))]),
    "six trays apart": fleet(
        TRAY,
        NVLINK,
        [
            engine(TRAY, Parallelism(tensor_parallel=8, expert_parallel=True), name="prefill"),
            engine(TRAY, _WIDE, name="decode", first=2),
        ],
    ),
}


@pytest.fixture(scope="session", params=NAMES)
def shipped(request: pytest.FixtureRequest) -> FleetPlan:
    return planned(request.param)


@pytest.fixture(params=MADE_UP)
def made_up(request: pytest.FixtureRequest) -> FleetPlan:
    return MADE_UP[request.param]

"""The checkpoint is counted where it lies."""

import pytest

from stacks.planning.disks import checkpoint_mib
from stacks.planning.hosts import CheckpointPlace
from stacks.planning.naming import gb
from stacks.report.disks import disk
from tests.unit.stacks.report.conftest import MADE_UP

PLAN = MADE_UP["two trays"]
ENGINE = f"{gb(((PLAN.disk_mib or 0) - checkpoint_mib(PLAN)) * 2**20)} for the engine"
WEIGHTS = f"{gb(checkpoint_mib(PLAN) * 2**20)} for checkpoint on"
ALL = "1,572.9 GB for engine and checkpoint"
NFS = CheckpointPlace(kind="nfs", source="10.20.0.5:/e")
PATH = CheckpointPlace(kind="path", source="/mnt/nvme")
ONE = CheckpointPlace(kind="disk", source="S0ONE")
OTHER = CheckpointPlace(kind="disk", source="S0OTHER")


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ((None, None), ALL),
        ((NFS, NFS), f"{ENGINE}; {WEIGHTS} 10.20.0.5:/e, once for all"),
        ((PATH, PATH), f"{ENGINE}; {WEIGHTS} /mnt/nvme"),
        ((ONE, OTHER), f"{ENGINE}; {WEIGHTS} disk S0ONE (tray-0) and disk S0OTHER (tray-1)"),
        (
            (None, OTHER),
            f"{ALL} (tray-0); {ENGINE} on the others; {WEIGHTS} disk S0OTHER (tray-1)",
        ),
    ],
)
def test_the_disk_of_each_machine(
    places: tuple[CheckpointPlace | None, CheckpointPlace | None], said: str
) -> None:
    hosts = tuple(
        host.model_copy(update={"checkpoints": place}) for host, place in zip(PLAN.hosts, places, strict=True)
    )
    assert disk(PLAN.model_copy(update={"hosts": hosts})) == said

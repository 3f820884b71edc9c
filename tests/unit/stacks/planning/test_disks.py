"""What the disk of a machine's system is asked for, where checkpoints lie elsewhere and where not."""

from stacks.config import Parallelism
from stacks.planning.disks import brought, checkpoint_mib, engine_mib
from stacks.planning.hosts import CheckpointPlace
from tests.factories.plans import NVLINK, TRAY, engine, fleet
from tests.factories.stacks import planned


def test_a_checkpoint_elsewhere_does_not_count() -> None:
    plan = planned("kimi-k3-gb300", {"machines.storage": {"nfs": "10.20.0.5:/e"}})
    assert plan.disk_mib
    for host in plan.hosts:
        assert brought(plan, host) == {plan.engine.home: plan.disk_mib - checkpoint_mib(plan)}


def test_without_a_word_all_of_it_lies_on_the_disk_of_the_system() -> None:
    plan = planned("kimi-k3-gb300")
    for host in plan.hosts:
        here = brought(plan, host)
        assert here.keys() == {plan.engine.home, plan.checkpoint.home}
        assert sum(here.values()) == plan.disk_mib


def test_what_nobody_knows_is_not_asked_for() -> None:
    plan = fleet(TRAY, NVLINK, [engine(TRAY, Parallelism(tensor_parallel=8))]).model_copy(
        update={"disk_mib": None}
    )
    place = CheckpointPlace(kind="disk", source="S0")
    assert engine_mib(plan) == 0
    assert set(brought(plan, plan.hosts[0].model_copy(update={"checkpoints": place})).values()) == {0}

"""Time, money and deadlines."""

from stacks.planning.budget import SLOWEST_GPU_READ
from tests.factories.stacks import planned

PRICE = {"per_gpu_hour": 10, "currency": "USD", "source": "an offer", "date": "2026-11-30"}
STORED = 1_560_936_091_448


def test_each_machine_reads_at_least_its_share_and_at_most_everything() -> None:
    load = planned("kimi-k3-gb300", {"machines.storage": {"read": "4 GB/s"}}).load
    assert (load.low, load.high) == (STORED / 2 / 4e9, STORED / 4e9)
    assert "each tray reads 4 GB/s" in load.assumes


def test_without_the_speed_of_the_storage_nothing_is_guessed() -> None:
    load = planned("kimi-k3-gb300", drop=["machines.storage"]).load
    assert (load.low, load.high) == (None, None)
    assert "machines.storage.read" in load.assumes


def test_the_price_of_an_hour_and_of_an_evaluation() -> None:
    cost = planned("kimi-k3-gb300", {"price": PRICE, "run": {"evaluation": "2 h"}}).cost
    assert cost.per_hour == 80
    assert cost.per_evaluation == round(80 * (7200 + STORED / 8e9) / 3600, 2)
    assert cost.source == "an offer, 2026-11-30"


def test_without_a_price_it_stays_unknown() -> None:
    cost = planned("kimi-k3-gb300").cost
    assert (cost.gpus, cost.per_hour, cost.per_evaluation) == (8, None, None)


def test_deadlines_wait_for_storage_at_half_its_speed_or_for_the_slowest_that_is_documented() -> None:
    known, unknown = (
        planned("kimi-k3-gb300").budget,
        planned("kimi-k3-gb300", drop=["machines.storage"]).budget,
    )
    mib = -(-STORED // 2**20)
    assert known.ready == mib / (4e9 / 2**20) + 3600
    assert unknown.ready == mib / SLOWEST_GPU_READ + 3600

"""Time, money, disk and deadlines; what is unknown of them stays unknown."""

from typing import Any

import pytest

from stacks.planning.budget import (
    CHECKPOINT_ALLOWANCE,
    GPU_START_ALLOWANCE,
    SLOWEST_GPU_FETCH,
    SLOWEST_GPU_READ,
    ready_within,
)
from stacks.planning.disks import checkpoint_mib
from stacks.planning.load import bytes_to_read
from tests.factories.stacks import designed, planned

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


def test_a_reservation_is_paid_for_whole() -> None:
    run = {"evaluation": "2 h", "reserved": "24 h"}
    assert planned("kimi-k3-gb300", {"price": PRICE, "run": run}).cost.per_reservation == 80 * 24


def test_without_a_price_it_stays_unknown() -> None:
    cost = planned("kimi-k3-gb300").cost
    assert (cost.gpus, cost.per_hour, cost.per_evaluation) == (8, None, None)
    assert cost.assumes.startswith("no price is given (price)")


@pytest.mark.parametrize(
    ("changes", "drop", "says"),
    [
        ({"run": {"evaluation": "2 h"}}, [], "starting up after reading is not counted"),
        ({}, [], "how long an evaluation takes is not given (run.evaluation)"),
        ({"run": {"evaluation": "2 h"}}, ["machines.storage"], "the read speed of the storage is not given"),
    ],
)
def test_what_an_evaluation_costs_says_what_is_left_out_or_missing(
    changes: dict[str, Any], drop: list[str], says: str
) -> None:
    assert says in planned("kimi-k3-gb300", {"price": PRICE, **changes}, drop).cost.assumes


def test_deadlines_wait_for_storage_at_half_its_speed_or_for_the_slowest_that_is_documented() -> None:
    known, unknown = (
        planned("kimi-k3-gb300").budget,
        planned("kimi-k3-gb300", drop=["machines.storage"]).budget,
    )
    mib = -(-STORED // 2**20)
    assert known.ready == mib / (4e9 / 2**20) + 3600
    assert unknown.ready == mib / SLOWEST_GPU_READ + 3600


@pytest.mark.parametrize("read", ["1 GB/s", "8 GB/s"])
def test_a_fetch_waits_for_the_network_however_fast_storage_is_read(read: str) -> None:
    machines = len(planned("kimi-k3-gb300").hosts)
    fetched = -(-STORED // 2**20) * machines / SLOWEST_GPU_FETCH + CHECKPOINT_ALLOWANCE
    assert planned("kimi-k3-gb300", {"machines.storage": {"read": read}}).budget.checkpoint == fetched
    # Machines that share an export fetch once.
    shared = planned("kimi-k3-gb300", {"machines.storage": {"read": read, "nfs": "10.20.0.5:/e"}}).budget
    assert shared.checkpoint == -(-STORED // 2**20) / SLOWEST_GPU_FETCH + CHECKPOINT_ALLOWANCE


def test_a_measured_speed_shortens_the_wait_and_never_makes_it_longer() -> None:
    budget = planned("kimi-k3-gb300", drop=["machines.storage"]).budget
    size = -(-STORED // 2**20) * 2**20
    assert ready_within(budget, [9e9, 8e9]) == pytest.approx(size / 4e9 + 3600)
    assert ready_within(budget, [8e9, None]) == ready_within(budget, [8e9, budget.read]) == budget.ready


def test_bytes_that_nobody_knows_stay_unknown() -> None:
    plan = planned("kimi-k3-gb300", {"checkpoint": "nvfp4"})
    assert (plan.checkpoint.stored_bytes, plan.disk_mib, plan.load.high) == (None, None, None)
    assert plan.load.assumes == "the size of the checkpoint is unknown"
    assert (plan.budget.checkpoint, plan.budget.ready) == (CHECKPOINT_ALLOWANCE, GPU_START_ALLOWANCE)


def test_rounded_bytes_are_told_from_exact_ones() -> None:
    rounded, exact = planned("qwen38-mi355x-quark").checkpoint, planned("kimi-k3-gb300").checkpoint
    assert (rounded.file_bytes, rounded.tensor_bytes) == (None, None)
    assert rounded.stored_bytes == rounded.about_bytes
    assert exact.stored_bytes == exact.file_bytes == STORED


def test_a_draft_of_unknown_size_is_left_out_and_that_is_said() -> None:
    plan = planned("kimi-k3-gb300-dspark", {"machines.storage": {"read": "4 GB/s"}})
    assert plan.load.high == STORED / 4e9
    assert plan.not_counted == "draft not counted: its size is unknown"
    assert plan.not_counted in plan.load.assumes
    assert planned("kimi-k3-gb300").not_counted == ""


def test_a_draft_of_known_size_is_read_and_stored_too() -> None:
    design = designed("kimi-k3-gb300-dspark")
    assert design.draft
    known = design.model_copy(update={"draft": design.draft.model_copy(update={"tensor_bytes": 10**9})})
    assert bytes_to_read(known) == STORED + 10**9


def test_what_is_read_is_what_lies_on_the_disk() -> None:
    for stack in ("kimi-k3-gb300", "kimi-k3-gb300-dspark", "lab"):
        read = bytes_to_read(designed(stack))
        assert read
        assert checkpoint_mib(planned(stack)) == -(-read // 2**20)


def test_a_reserved_window_says_that_loading_is_not_counted() -> None:
    told = planned("kimi-k3-gb300", {"run": {"reserved": "1 h"}}, ["machines.storage"]).warnings
    assert [each for each in told if "loading is not counted" in each and "machines.storage.read" in each]
    counted = planned("kimi-k3-gb300", {"run": {"reserved": "1 h"}}).warnings
    assert not [each for each in counted if "loading is not counted" in each]

"""Names and addresses of a lab fleet's things."""

from __future__ import annotations

import pytest

from components.machines.lab import names

LONGEST_INTERFACE = 15
FLEET = "lab-3fa2c1"


def test_names_fit_what_they_name() -> None:
    assert len(names.bridge(FLEET)) <= LONGEST_INTERFACE
    assert len(names.link(FLEET, names.HIGHEST_INDEX)) <= LONGEST_INTERFACE
    assert len(names.machine(FLEET, "h" * 40)) <= 64


def test_names_follow_from_fleet_and_name_alone() -> None:
    assert names.machine(FLEET, "h1") == names.machine(FLEET, "h1")
    assert names.machine(FLEET, "h1") != names.machine("lab-000000", "h1")
    assert names.MACHINE.fullmatch(names.machine(FLEET, "lab-1"))


def test_addresses_count_from_the_tenth() -> None:
    assert names.gateway("10.213.7.0/24") == "10.213.7.1"
    assert names.address("10.213.7.0/24", 1) == "10.213.7.11"
    assert names.address("10.213.7.0/24", names.HIGHEST_INDEX) == "10.213.7.210"


def test_hardware_addresses_are_local_and_differ() -> None:
    seen = {names.hardware_address(FLEET, index) for index in range(names.HIGHEST_INDEX + 1)}
    assert len(seen) == names.HIGHEST_INDEX + 1
    assert all(each.startswith("02:") and len(each) == 17 for each in seen)


@pytest.mark.parametrize(
    ("name", "index", "faults"),
    [
        ("h1", 1, 0),
        ("lab-1", 200, 0),
        ("Lab", 1, 1),
        ("1h", 1, 1),
        ("h-", 1, 1),
        ("h_1", 1, 1),
        ("", 1, 1),
        ("h" * 41, 1, 1),
        ("h1", 0, 1),
        ("h1", 201, 1),
        ("h 1", 999, 2),
    ],
)
def test_host_names_and_indices_are_judged(name: str, index: int, faults: int) -> None:
    assert len(list(names.host_faults(name, index))) == faults

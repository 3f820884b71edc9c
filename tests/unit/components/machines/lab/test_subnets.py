"""Which /24 a fleet gets."""

from __future__ import annotations

import ipaddress

import pytest

from components.machines.lab import subnets
from stacks.errors import Refusal

FLEET = "lab-3fa2c1"


def test_a_fleet_gets_the_same_one_again() -> None:
    assert subnets.free(FLEET, []) == subnets.free(FLEET, ["192.0.2.0/24"])


@pytest.mark.parametrize("host", ["0/24", "1", "128/25"])
def test_what_is_taken_in_part_is_taken(host: str) -> None:
    first = subnets.free(FLEET, [])
    taken = first.replace("0/24", host)
    second = subnets.free(FLEET, [taken])
    assert not ipaddress.IPv4Network(first).overlaps(ipaddress.IPv4Network(second))


def test_the_last_free_one_is_found_and_then_none() -> None:
    all_of_it = ipaddress.IPv4Network(subnets.POOL).subnets(new_prefix=24)
    taken = [str(each) for each in all_of_it if str(each) != "10.213.7.0/24"]
    assert subnets.free(FLEET, taken) == "10.213.7.0/24"
    with pytest.raises(Refusal, match=r"no /24 of 10\.213\.0\.0/16 is free for fleet lab-3fa2c1"):
        subnets.free(FLEET, [*taken, "10.213.7.0/24"])


def test_a_route_over_all_of_it_takes_all_of_it() -> None:
    with pytest.raises(Refusal):
        subnets.free(FLEET, ["10.0.0.0/8"])

"""Locks of the catalog: exact, hashed, for the hosts' Python and platform."""

import re

import pytest

from stacks import catalog
from tools.bootstrap import wheels
from tools.bootstrap.work import CHECKOUT

LOCKS = [engine.lock for engine in catalog.load().engines.values()]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_exact_and_hashed(lock: str) -> None:
    wanted = wheels.requirements((CHECKOUT / lock).read_text())
    assert all(re.match(r"[\w.-]+==[\w.+!]+ \\\n +--hash=sha256:[0-9a-f]{64}", each) for each in wanted)
    assert len(wanted) == len(set(wanted)) > 0


@pytest.mark.parametrize("lock", LOCKS)
def test_nothing_of_the_lock_is_left_out(lock: str) -> None:
    text = (CHECKOUT / lock).read_text()
    hashes = [each.count("--hash=sha256:") for each in wheels.requirements(text)]
    assert sum(hashes) == text.count("--hash=sha256:")


def test_pip_is_asked_for_wheels_of_the_hosts_the_newest_first() -> None:
    words = wheels.target("3.12", "aarch64-manylinux_2_17")
    assert words[:4] == ["--python-version", "3.12", "--implementation", "cp"]
    assert words[4:10] == ["--abi", "cp312", "--abi", "abi3", "--abi", "none"]
    platforms = words[11::2]
    assert platforms[0] == "manylinux_2_17_aarch64"
    assert platforms[12:] == [
        f"{each}_aarch64"
        for each in ("manylinux_2_5", "manylinux2014", "manylinux2010", "manylinux1", "linux")
    ]

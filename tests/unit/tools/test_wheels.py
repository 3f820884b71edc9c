"""Locks of the catalog: exact, hashed, for the hosts' Python and platform."""

import re

import pytest
from packaging.tags import Tag, parse_tag

from stacks import catalog
from stacks.catalog import Lock
from tools.bootstrap.work import CHECKOUT
from tools.lock import wheels

LOCKS = [
    lock.path
    for engine in catalog.load().engines.values()
    for lock in engine.locks.values()
    if isinstance(lock, Lock)
]


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


def test_wheels_of_the_hosts_fit_and_no_others() -> None:
    fitting = wheels.Target("3.12", "aarch64-manylinux_2_28").tags
    for tag in ("cp312-cp312-manylinux_2_28", "cp38-abi3-manylinux2014", "cp312-none-manylinux_2_17"):
        assert _tag(f"{tag}_aarch64") in fitting
    assert _tag("py3-none-any") in fitting
    for tag in ("manylinux_2_34_aarch64", "manylinux_2_28_x86_64", "win_arm64"):
        assert _tag(f"cp312-cp312-{tag}") not in fitting
    assert _tag("cp311-cp311-manylinux_2_28_aarch64") not in fitting
    newest, older = (_tag(f"cp312-cp312-manylinux_2_{minor}_aarch64") for minor in (28, 17))
    assert fitting[newest] < fitting[older] < fitting[_tag("py3-none-any")]


def _tag(text: str) -> Tag:
    (tag,) = parse_tag(text)
    return tag

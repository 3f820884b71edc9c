"""The lab engine's lock: exact, hashed, for the hosts' platform."""

import re

from tools.bootstrap import wheels


def test_every_requirement_is_exact_and_hashed() -> None:
    wanted = wheels.requirements(wheels.LOCK.read_text())
    assert all(re.match(r"[\w.-]+==[\w.+!]+ \\\n +--hash=sha256:[0-9a-f]{64}", each) for each in wanted)
    assert len(wanted) == len(set(wanted)) == 167


def test_nothing_of_the_lock_is_left_out() -> None:
    lock = wheels.LOCK.read_text()
    hashes = [each.count("--hash=sha256:") for each in wheels.requirements(lock)]
    assert sum(hashes) == lock.count("--hash=sha256:")

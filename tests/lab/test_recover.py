"""Recovery on real hosts: after a kill, and when the state is lost altogether."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from tests.lab.outside import traces

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.checkout import Checkout

pytestmark = pytest.mark.lab


def _lifecycle(checkout: Checkout, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lifecycle", *words, "--stack", "lab"], cwd=checkout.home,
        env=checkout.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


def _fail_at_engine(checkout: Checkout) -> str:
    """Bring the hosts up, prepared, and not further; return what was printed."""
    for wheel in checkout.wheels.glob("idna-*.whl"):
        wheel.unlink()
    return checkout.up(code=1)


def _lose_state(checkout: Checkout) -> None:
    shutil.rmtree(checkout.environment["PULUMI_BACKEND_URL"].removeprefix("file://"))
    _backend(checkout).mkdir()


def _backend(checkout: Checkout) -> Path:
    return checkout.home.parent / "state/backend"


def test_after_a_kill_in_a_playbook_one_command_clears_up_and_destroy_leaves_nothing(
    checkout: Checkout,
) -> None:
    running = checkout.start_up()
    running.wait_for(r"prepare: ")
    running.process.kill()
    running.process.wait()
    done = _lifecycle(checkout, "recover")
    assert done.returncode == 0, done.stderr
    assert "removed the lock of process" in done.stdout
    assert "closed an operation that was broken off: creating prepare (rack:hosts:Playbook)" in done.stdout
    running.finish()
    assert checkout.processes() == []
    for name in ("host-0", "host-1"):
        assert checkout.on(name, "ls /run/lock/rackstack/* 2>/dev/null || true") == ""
    again = _lifecycle(checkout, "recover")
    assert again.stdout == "stack lab: nothing to recover\n"
    checkout.destroy()
    assert traces(checkout.fleet) == []


@pytest.mark.long
def test_a_lost_state_is_adopted_by_up_or_swept(checkout: Checkout) -> None:
    shown = _fail_at_engine(checkout)
    bundle = checkout.home / re.findall(r"all that was seen is in (\S+\.tar\.gz)", shown)[-1]
    with tarfile.open(bundle) as tar:
        inside = "\n".join(tar.getnames())
    for part in (
        "manifest.json",
        "hosts/host-0/system.txt",
        "hosts/host-1/units.txt",
        "failure.txt",
        "stdout",
    ):
        assert part in inside
    before = {name: checkout.host(name).incarnation for name in ("host-0", "host-1")}

    refused = _lifecycle(checkout, "sweep", "--yes")
    assert refused.returncode == 1
    assert "so it is not lost" in refused.stderr

    _lose_state(checkout)
    checkout.run("stack", "init", "lab")
    checkout.up(code=1)
    assert {name: checkout.host(name).incarnation for name in before} == before

    asked = _lifecycle(checkout, "bundle")
    assert asked.returncode == 0, asked.stderr
    _lose_state(checkout)
    swept = _lifecycle(checkout, "sweep", "--yes")
    assert swept.returncode == 0, swept.stderr
    assert "nothing is left under its name" in swept.stdout
    assert traces(checkout.fleet) == []
    checkout.run("stack", "init", "lab")

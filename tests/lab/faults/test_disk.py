"""The disk of one host is full: said before anything is brought where that can be known, else when it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lab.faults.origin import Ill
from tests.lab.faults.rows import row
from tests.lab.faults.site import CHECKPOINTS, on, refusal, settle, spoilt

if TYPE_CHECKING:
    from tests.lab.faults.origin import Mirror
    from tests.lab.faults.site import Site

pytestmark = pytest.mark.lab

CONTENT = {"config.json": b"{}", "model-1.safetensors": bytes(6 << 20)}


def _small(folder: str, mib: int) -> tuple[str, str]:
    """Return the commands that put a small disk in a folder's place and take it away."""
    return f"mkdir -p {folder} && mount -t tmpfs -o size={mib}M small {folder}", f"umount {folder}"


def test_a_disk_too_small_for_the_engine_is_found_by_prepare(site: Site) -> None:
    inputs = site.prepare(prepare_brought={"/opt/rackstack/engines/large": 2})
    with spoilt(site.bad, *_small("/opt", 1)):
        row("disk-small-prepare").holds(refusal(inputs), host=site.bad.name)
    settle(inputs)


def test_a_disk_that_is_full_when_the_engine_comes(site: Site, mirror: Mirror) -> None:
    inputs = site.engine(mirror, "full")
    with spoilt(site.bad, *_small("/opt/rackstack/engines/full", 8)):
        row("disk-full-engine").holds(refusal(inputs), host=site.bad.name)
    settle(inputs)


def test_a_disk_too_small_for_the_checkpoint(site: Site, mirror: Mirror) -> None:
    inputs = site.checkpoint(mirror, "large", CONTENT)
    with spoilt(site.bad, *_small(f"{CHECKPOINTS}/large", 4)):
        row("disk-small-checkpoint").holds(refusal(inputs), host=site.bad.name)
    settle(inputs)


def test_a_disk_that_is_too_slow_for_the_deadline(site: Site, mirror: Mirror) -> None:
    large = {"model-1.safetensors": bytes(256 << 20)}
    inputs = site.checkpoint(mirror, "slow", large, checkpoint_least_read=10**15)
    alone = inputs.model_copy(update={"hosts": [site.bad]})
    row("disk-slow-checkpoint").holds(refusal(alone), host=site.bad.name, home=f"{CHECKPOINTS}/slow/1")
    healthy = alone.model_copy(update={"variables": alone.variables | {"checkpoint_least_read": 1}})
    made = settle(healthy)
    assert made.facts[site.bad.name]["read"] > 1
    on(site.bad, f"rm -r {CHECKPOINTS}/slow")


@pytest.mark.long
def test_a_disk_that_fills_while_the_checkpoint_comes(site: Site, mirror: Mirror) -> None:
    """Others fill it when half of the file has been sent."""
    name, shard = "filled", "model-1.safetensors"
    inputs = site.checkpoint(mirror, name, CONTENT)
    folder = f"{CHECKPOINTS}/{name}"
    full = f"fallocate -l $(($(df --output=avail -B1 {folder} | tail -1) - 65536)) {folder}/other || true"
    mirror.ill[f"/checkpoints/{name}/1/{shard}"] = Ill(after=1 << 20, meanwhile=lambda: on(site.bad, full))
    with spoilt(site.bad, *_small(folder, 16)):
        row("disk-full-checkpoint").holds(refusal(inputs), host=site.bad.name, file=f"{shard}.partial")
        assert on(site.hosts[0], f"ls -d {folder}/1 {folder}/1.part 2>/dev/null || true") == f"{folder}/1"
        on(site.bad, f"rm {folder}/other")
        mirror.ill.clear()
        settle(inputs)

"""The mirror is ill: what is resumed, what is tried again, and what is said when it does not help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lab.faults.origin import Ill
from tests.lab.faults.rows import row
from tests.lab.faults.site import CHECKPOINTS, WHEEL, on, refusal, settle

if TYPE_CHECKING:
    from tests.lab.faults.origin import Mirror
    from tests.lab.faults.site import Site

pytestmark = pytest.mark.lab

SHARD = "model-1.safetensors"
CONTENT = {"config.json": b"{}", SHARD: bytes(range(256)) * 4096}
SIZE = len(CONTENT[SHARD])


def _shard(name: str) -> str:
    return f"/checkpoints/{name}/1/{SHARD}"


def _refuses_then_goes_on(site: Site, mirror: Mirror, name: str, ill: Ill) -> str:
    """Spoil the shard; return the sentence, once the mended mirror has brought both hosts the same."""
    inputs = site.checkpoint(mirror, name, CONTENT)
    mirror.ill[_shard(name)] = ill
    said = refusal(inputs)
    for host in site.hosts:
        assert (
            on(host, f"ls -d {CHECKPOINTS}/{name}/1*/")
            == f"{CHECKPOINTS}/{name}/1.part/\n{CHECKPOINTS}/{name}/1.users/"
        )
    mirror.ill.clear()
    mirror.asked.clear()
    settle(inputs)
    return said


@pytest.mark.long
def test_a_busy_mirror(site: Site, mirror: Mirror) -> None:
    said = _refuses_then_goes_on(site, mirror, "busy", Ill(status=503))
    row("mirror-busy").holds(said, file=SHARD, url=mirror.url + _shard("busy"), size=SIZE)


@pytest.mark.long
def test_a_mirror_that_stalls(site: Site, mirror: Mirror) -> None:
    ill = Ill(after=300_000, stalls=True)
    inputs = site.checkpoint(mirror, "stalls", CONTENT)
    mirror.ill[_shard("stalls")] = Ill(after=0, stalls=True)
    said = refusal(inputs)
    row("mirror-stalls").holds(said, file=SHARD, url=mirror.url + _shard("stalls"), size=SIZE)
    mirror.ill[_shard("stalls")] = ill
    mirror.asked.clear()
    settle(inputs)
    assert (_shard("stalls"), "bytes=300000-") in mirror.asked


@pytest.mark.long
def test_a_mirror_that_cuts_the_connection(site: Site, mirror: Mirror) -> None:
    said = _refuses_then_goes_on(site, mirror, "cuts", Ill(after=0))
    row("mirror-cuts").holds(said, file=SHARD, url=mirror.url + _shard("cuts"), size=SIZE)
    inputs = site.checkpoint(mirror, "cuts-again", CONTENT)
    mirror.ill[_shard("cuts-again")] = Ill(after=500_000)
    mirror.asked.clear()
    settle(inputs)
    assert {begin for path, begin in mirror.asked if path == _shard("cuts-again")} == {
        "bytes=0-",
        "bytes=500000-",
        "bytes=1000000-",
    }


@pytest.mark.long
def test_a_mirror_that_cuts_a_wheel(site: Site, mirror: Mirror) -> None:
    inputs = site.engine(mirror, "cut")
    mirror.ill[WHEEL] = Ill(after=1000)
    row("wheel-cut").holds(refusal(inputs), url=f"{mirror.url}/wheels/")
    for host in site.hosts:
        assert (
            on(host, "ls /opt/rackstack/engines/cut/.rackstack-complete 2>/dev/null || echo none") == "none"
        )
    mirror.ill.clear()
    settle(inputs)

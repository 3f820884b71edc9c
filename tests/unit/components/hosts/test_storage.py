"""Where the checkpoints of each host lie."""

from __future__ import annotations

from typing import Any

import pytest

from components.hosts import storage
from stacks.planning.disks import checkpoint_mib
from tests.factories.hosts import KEY, KEY2
from tests.factories.stacks import planned

HOSTS = [
    {"address": "10.20.0.11", "host_key": KEY},
    {"address": "10.20.0.12", "host_key": KEY2, "disk": "S0OWN"},
]


@pytest.mark.parametrize(
    ("wanted", "found", "packages"),
    [
        ({"path": "/mnt/nvme"}, {"storage_kind": "path", "storage_source": "/mnt/nvme"}, []),
        ({"nfs": "10.20.0.5:/e"}, {"storage_kind": "nfs", "storage_source": "10.20.0.5:/e"}, ["nfs-common"]),
        ({"disk": "S0ALL"}, {"storage_kind": "disk", "storage_source": "S0ALL"}, ["xfsprogs"]),
    ],
)
def test_every_host_mounts_what_the_stack_names(
    wanted: dict[str, Any], found: dict[str, str], packages: list[str]
) -> None:
    plan = planned("kimi-k3-gb300", {"machines.storage": wanted, "machines.hosts": HOSTS[:1]})
    of_each = found | {"storage_mib": checkpoint_mib(plan)}
    assert storage.of_hosts(plan) == {"tray-0": of_each, "tray-1": of_each}
    assert storage.packages(plan) == packages


def test_a_disk_of_its_own_stands_before_that_of_all() -> None:
    plan = planned("kimi-k3-gb300", {"machines.storage": {"disk": "S0ALL"}, "machines.hosts": HOSTS})
    assert [each["storage_source"] for each in storage.of_hosts(plan).values()] == ["S0ALL", "S0OWN"]


def test_without_a_word_checkpoints_lie_on_the_disk_of_the_system() -> None:
    plan = planned("kimi-k3-gb300")
    assert storage.of_hosts(plan) == {}

"""One fleet of two prepared hosts for all faults that need no engine."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from components.bundles import archive
from components.fleet_inventory import Inventory
from components.hosts import runs, ssh
from components.machines.lab.network import Network, NetworkInputs
from tests.factories.machines import boot, machine
from tests.factories.run import FakeRun
from tests.lab.faults.origin import Mirror, serving
from tests.lab.faults.served import served as served  # noqa: PLC0414 -- a fixture of the whole folder
from tests.lab.faults.site import Site, settle
from tests.lab.outside import inventory_of, traces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="package")
def site(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Boot and prepare two hosts, about 20 s; they go with the last test that uses them."""
    name = f"test-{secrets.token_hex(3)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "KEPT", tmp_path_factory.mktemp("kept"))
        patch.setattr(archive, "KEPT", tmp_path_factory.mktemp("bundles"))
        try:
            made = _boot(name, image, tmp_path_factory.mktemp("locks"))
            settle(made.prepare())
            yield made
        finally:
            ssh.close_all()
            Inventory().delete(*inventory_of(name), FakeRun())
    assert traces(name) == []


@pytest.fixture
def mirror(site: Site) -> Iterator[Mirror]:
    """Serve on the bridge, at the operator's own address."""
    subnet = site.made[0][0].subnet
    with serving(subnet.replace(".0/24", ".1")) as made:
        yield made


def _boot(fleet: str, image: Path, folder: Path) -> Site:
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    asked = [machine(network, fleet, f"host-{rank}", rank + 2, image) for rank in range(2)]
    asked = [each.model_copy(update={"memory_mib": 512}) for each in asked]
    return Site(fleet, list(zip(asked, boot(asked), strict=True)), folder)

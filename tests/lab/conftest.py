"""What tests on real lab hosts share; without what they need they are skipped, in CI they fail."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

import pytest

from components.fleet_inventory import Inventory
from components.hosts import runs, ssh
from components.machines.lab import able, cache
from stacks import catalog
from tests.factories.run import FakeRun
from tests.lab.checkout import Checkout
from tests.lab.outside import inventory_of, traces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMAGE = "bookworm-2"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say exactly what is missing."""
    if item.get_closest_marker("lab") is None:
        return
    missing = able.missing()
    if not _image().is_dir():
        missing.append(f"lab hosts need the image {_image()}; `make up` makes it")
    if missing and os.environ.get("CI") == "true":
        pytest.fail("; ".join(missing), pytrace=False)
    if missing:
        pytest.skip("; ".join(missing))


@pytest.fixture(scope="session")
def image() -> Path:
    """Return the root filesystem of lab hosts."""
    return _image()


@pytest.fixture(scope="module")
def fleet() -> Iterator[str]:
    """Name a fleet of this module's own; whatever is left of it goes afterwards."""
    yield from _passing_fleet()


@pytest.fixture
def other_fleet() -> Iterator[str]:
    """Name a fleet of one test's own; whatever is left of it goes afterwards."""
    yield from _passing_fleet()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what failed runs of a module leave among the tests' files, and end its connections."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "KEPT", tmp_path_factory.mktemp("kept"))
        yield
    ssh.close_all()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Lend a copy of this project to all tests of a module; its fleet is destroyed afterwards."""
    yield from _passing_checkout(tmp_path_factory.mktemp("fleet"))


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    """Lend a copy of this project to one test; its fleet is destroyed afterwards, whatever happened."""
    yield from _passing_checkout(tmp_path)


def _passing_checkout(folder: Path) -> Iterator[Checkout]:
    made = Checkout(folder)
    yield made
    made.recover()
    made.destroy()
    assert traces(made.fleet) == []


def _passing_fleet() -> Iterator[str]:
    name = f"test-{secrets.token_hex(3)}"
    yield name
    inputs, outputs = inventory_of(name)
    Inventory().delete(inputs, outputs, FakeRun())


def _image() -> Path:
    recipe = catalog.load().images[IMAGE]
    return cache.image(IMAGE, recipe.suite, recipe.packages)

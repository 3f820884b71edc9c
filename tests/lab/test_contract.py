"""The contract of every resource kind, against real things: ensure, look, delete only what is one's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from components.hosts import playbook, runs
from components.hosts.record import Contact
from components.machines.lab.network import Network, NetworkInputs
from components.plugin.registry import KINDS, kind_of
from tests.factories.machines import machine
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from components.plugin.kind import Inputs

pytestmark = pytest.mark.lab

RECORDS = {
    "rack:fleet:Inventory": "keeps only the fleet's name",
    "rack:gateway:Certificate": "keeps only the certificate, in the state",
    "rack:serving:ApiKey": "keeps only the key, in the state",
    "rack:readiness:Completion": "keeps only what was answered; its unit tests ask an engine",
    "rack:readiness:Collectives": "keeps only figures; its unit tests hand it what ranks tell",
    "rack:readiness:Gates": "keeps only what was seen; its unit tests hand it what tools print",
}
"""Kinds that make nothing outside the state, and what they keep."""


class World:
    """A fleet of this module's own, of which each kind is given what it needs."""

    def __init__(self, fleet: str, image: Path, folder: Path) -> None:
        self.fleet = fleet
        self.image = image
        self.folder = folder

    def network(self) -> dict[str, Any]:
        """Return the inputs of the network."""
        return {"fleet": self.fleet}

    def host(self, name: str = "contract", index: int = 3) -> dict[str, Any]:
        """Return the inputs of a host on the network."""
        network = Network().create(NetworkInputs(fleet=self.fleet), FakeRun())
        return machine(network, self.fleet, name, index, self.image).model_dump()

    def origin(self) -> dict[str, Any]:
        """Return the inputs of an origin with two empty folders."""
        for name in ("wheels", "checkpoints"):
            (self.folder / name).mkdir(exist_ok=True)
        folders = {name: str(self.folder / name) for name in ("wheels", "checkpoints")}
        return self.host("mirror", 1) | folders

    def claim(self) -> dict[str, Any]:
        """Return the inputs of a claim of a host that is there already."""
        host = kind_of("rack:lab:Host")
        made = host.create(host.inputs.model_validate(self.host("owned", 5)), FakeRun())
        fields: dict[str, Any] = made.record.model_dump(include=set(Contact.model_fields))
        return fields | {
            "fleet": self.fleet,
            "type": "plain-host",
            "arch": os.uname().machine,
            "vendor": "cpu",
            "accelerator": "cpu",
            "gpus": 1,
            "memory_mib": 1,
            "brought": {},
        }

    def playbook(self) -> dict[str, Any]:
        """Return the inputs of the tests' own playbook on one host."""
        host = kind_of("rack:lab:Host")
        made = host.create(host.inputs.model_validate(self.host("worker", 4)), FakeRun())
        return {
            "fleet": self.fleet,
            "playbook": "ping",
            "hosts": [made.record.model_dump()],
            "variables": {"ping_words": [], "ping_failing": "", "ping_seconds": 0},
            "host_variables": {},
            "secrets": {"ping_secret": SecretStr("hidden")},
            "roles": {"ping": "1"},
            "after": [],
        }


THINGS: dict[str, Callable[[World], dict[str, Any]]] = {
    "rack:baremetal:Host": World.claim,
    "rack:lab:Network": World.network,
    "rack:lab:Host": World.host,
    "rack:lab:Origin": World.origin,
    "rack:hosts:Playbook": World.playbook,
}
"""Kinds that make something outside the state, and inputs for one."""


@pytest.fixture(scope="module")
def world(fleet: str, image: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return the world of this module."""
    return World(fleet, image, tmp_path_factory.mktemp("world"))


@pytest.fixture(autouse=True)
def _small_playbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playbook, "PLAYBOOKS", Path(__file__).parent / "data" / "playbooks")
    monkeypatch.setattr(runs, "KEPT", tmp_path / "kept")


def test_every_kind_is_listed_here() -> None:
    assert set(THINGS) | set(RECORDS) == set(KINDS)


@pytest.mark.parametrize("token", sorted(THINGS))
def test_a_thing_is_ensured_looked_at_and_deleted_only_by_its_own(token: str, world: World) -> None:
    kind = kind_of(token)
    inputs: Inputs = kind.inputs.model_validate(THINGS[token](world))
    first = kind.create(inputs, FakeRun())
    second = kind.create(inputs, FakeRun())
    assert kind.identity(inputs) == kind.identity(inputs)
    assert _as_it_should_be(token, inputs, second)

    kind.delete(inputs, first.model_copy(update={"incarnation": "another"}), FakeRun())
    assert _as_it_should_be(token, inputs, second), "a foreign incarnation was deleted"

    assert kind.update(inputs, inputs, second, FakeRun()).incarnation == second.incarnation
    kind.delete(inputs, second, FakeRun())
    assert not _as_it_should_be(token, inputs, second)
    kind.delete(inputs, second, FakeRun())


def _as_it_should_be(token: str, inputs: Inputs, outputs: Any) -> bool:
    seen = kind_of(token).read(inputs, outputs, FakeRun())
    return seen is not None and seen.drift == {}

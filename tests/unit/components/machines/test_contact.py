"""How a listed machine is logged in to."""

from pathlib import Path

import pytest

from components.hosts.record import JumpHost
from components.machines.contact import contact
from stacks import config
from tests.factories.hosts import KEY, KEY2


def test_paths_are_those_of_this_machine_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "expanduser", lambda self: Path("/home/ann", *self.parts[1:]))
    listed = config.ListedHost(address="10.0.0.1", host_key=KEY, user="ubuntu")
    jump = config.JumpHost(address="bastion", user="ann", host_key=KEY2, identity="~/jump")
    found = contact("tray-0", listed, "~/.ssh/fleet", jump)
    assert found.identity_file == "/home/ann/.ssh/fleet"
    assert found.jump == JumpHost(
        address="bastion", port=22, user="ann", identity_file="/home/ann/jump", host_key=KEY2
    )
    record = found.record("i1", "eth0")
    assert (record.user, record.incarnation, record.interface, record.jump) == (
        "ubuntu",
        "i1",
        "eth0",
        found.jump,
    )

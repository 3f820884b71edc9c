"""A stack whose one machine only a jump host reaches: Pulumi brings it up, looks at it and takes it away."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest

from components.machines.lab.network import Network, NetworkInputs
from tests.factories.machines import boot, machine
from tests.factories.run import FakeRun
from tests.lab.checkout import Checkout
from tests.lab.emulated.stand_in import ENGINE, change, run_on_cores
from tests.lab.faults.origin import Mirror, serving
from tests.lab.faults.site import on
from tests.lab.outside import reached, said, status_through
from tests.lab.test_emulated import CHECKPOINTS, TRACES
from tests.lab.test_jump import PORT, closed, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.usefixtures("kept")]

MEMORY_MIB = 4096
LEASE = "/var/lib/rackstack-lease"
LOGINS = "journalctl -t sshd -o cat | grep -c 'Accepted publickey for hop' || true"


class Behind(NamedTuple):
    """A machine and the way to it.

    Attributes:
        gate: The jump host, as a host.
        host: The machine, reached through the jump host.
        mirror: What serves wheels and checkpoints to it.
    """

    gate: HostRecord
    host: HostRecord
    mirror: Mirror


@pytest.fixture(scope="module")
def behind(fleet: str, image: Path) -> Iterator[Behind]:
    """Boot a jump host and a machine that nobody else reaches, about 6 s."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    asked = [machine(network, fleet, name, index, image) for index, name in ((2, "gate"), (3, "host-0"))]
    asked[1] = asked[1].model_copy(update={"memory_mib": MEMORY_MIB})
    gate, host = [made.record for made in boot(asked)]
    behind_it = closed(host, opened(gate))
    with serving(network.subnet.replace(".0/24", ".1")) as mirror:
        yield Behind(gate, behind_it, mirror)


def test_a_stack_behind_a_jump_host_comes_up_answers_and_goes(behind: Behind, tmp_path: Path) -> None:
    project = listed(Checkout(tmp_path), behind)
    try:
        told = project.up()
        assert "is claimed" in told
        assert "completion" in told
        assert reached(behind.host.address, [22, PORT]) == {22: "silent", PORT: "silent"}
        assert status_through(project.outputs()["reach"], PORT) == "400"  # the door wants TLS
        assert int(said(behind.gate, LOGINS)) > 0
        project.run("preview", "--refresh", "--expect-no-changes", "--stack", project.stack)
    finally:
        project.recover()
        project.destroy()
    assert on(behind.host, f"{TRACES}; ls {LEASE} 2>/dev/null || true") == "table inet wall"
    assert on(behind.host, CHECKPOINTS) == "lab-qwen3-bf16"


def listed(project: Checkout, behind: Behind) -> Checkout:
    """Have a project's stack list the machine, of a type that a person may name."""
    catalog = project.home / "stacks" / "catalog"
    shutil.copy(catalog / "machines" / "lab-host.yaml", catalog / "machines" / "plain-host.yaml")
    change(catalog / "engines" / f"{ENGINE}.yaml", run_on_cores)
    host, jump = behind.host, behind.host.jump
    assert jump is not None
    project.change(
        machines={
            "provider": "baremetal",
            "type": "plain-host",
            "hosts": [{"address": host.address, "host_key": host.host_key}],
            "identity": host.identity_file,
            "mirror": behind.mirror.url,
            "jump": jump.model_dump(include={"address", "user", "host_key"})
            | {"identity": jump.identity_file},
        },
        layout={"tensor_parallel": 1},
        access={"operators": [jump.address]},
    )
    behind.mirror.files |= {f"/wheels/{each.name}": each for each in project.wheels.iterdir()}
    behind.mirror.files |= {
        f"/{each.relative_to(project.cache)}": each for each in project.cache.glob("checkpoints/lab-*/*/*")
    }
    return project

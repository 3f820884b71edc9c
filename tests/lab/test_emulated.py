"""Shipped stacks on machines that behave as those with GPUs do, from the claim to a completion and back.

What is replaced of a stack stands in `tests.lab.emulated.stand_in`; claims, roles, gates, settings, units,
gateway, readiness and destroy are those of the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lab.checkout import Checkout
from tests.lab.emulated.packages import RELEASE, REVISION, of_no_release, of_release
from tests.lab.emulated.packages import machine as kernel
from tests.lab.emulated.rack import Rack, booted
from tests.lab.emulated.stand_in import GPUS, MACHINES, stand_in
from tests.lab.faults.site import on

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.usefixtures("kept")]

MEMORY_MIB = 4096
DRIVER = "dpkg-query --show --showformat '${Version} ${db:Status-Want}' nvidia-driver-580-open"
TRACES = (
    "find /etc /opt /run /var/lib /usr/local -name '*rackstack*'"
    " ! -path '/etc/ssh/*' ! -path /var/lib/rackstack;"
    " find /var/lib/rackstack -mindepth 1 -maxdepth 1 ! -name checkpoints;"
    " apt-mark showhold; nft list tables; systemctl list-unit-files --no-legend 'rackstack*' || true"
)
CHECKPOINTS = "ls /var/lib/rackstack/checkpoints"


@pytest.fixture
def rack(request: pytest.FixtureRequest, other_fleet: str, image: Path) -> Iterator[Rack]:
    """Boot machines with GPUs and no driver."""
    count, accelerator = request.param
    offered = (*of_release(RELEASE), *of_no_release())
    with booted(
        other_fleet, image, count, kernel(GPUS, accelerator), *offered, memory_mib=MEMORY_MIB
    ) as made:
        yield made


@pytest.mark.parametrize(("stack", "rack"), MACHINES.items(), indirect=["rack"], ids=list(MACHINES))
def test_a_shipped_stack_comes_up_answers_and_leaves_what_it_says(
    stack: str, rack: Rack, tmp_path: Path
) -> None:
    project = Checkout(tmp_path, stack=stack)
    operator = rack.mirror.url.rpartition("/")[2].partition(":")[0]
    stand_in(project, rack.hosts, rack.mirror.url, operator)
    rack.mirror.files |= {f"/wheels/{each.name}": each for each in project.wheels.iterdir()}
    rack.mirror.files |= {
        f"/{each.relative_to(project.cache)}": each
        for each in project.cache.glob("checkpoints/stand-in*/*/*")
    }
    try:
        _comes_up(project, rack)
    finally:
        project.recover()
        project.destroy()
    for host in rack.hosts:
        assert on(host, TRACES) == ""
        assert on(host, DRIVER) == f"{RELEASE}-{REVISION} install"
        assert on(host, CHECKPOINTS) == "stand-in-bf16"


def _comes_up(project: Checkout, rack: Rack) -> None:
    said = project.up()
    assert "is claimed" in said
    assert "completion" in said
    addresses = [host.address for host in rack.hosts]
    for host in rack.hosts:
        assert on(host, DRIVER) == f"{RELEASE}-{REVISION} hold"
        _joined(project.stack, host, addresses)
    assert project.outputs()["hosts"] == dict(zip(project.outputs()["hosts"], addresses, strict=True))
    measured = project.state()["collectives"]["outputs"]["baseline"]["serve"]
    assert set(measured) == {"all_reduce", "alltoall"}
    assert min(measured.values()) > 0
    project.run("preview", "--refresh", "--expect-no-changes", "--stack", project.stack)


def _joined(stack: str, host: HostRecord, addresses: list[str]) -> None:
    """See that the ranks of a host go by what its fabric has."""
    environment = on(host, "cat /etc/rackstack/rank.env")
    assert "GLOO_SOCKET_IFNAME=" in environment
    if "gb300" in stack:
        assert on(host, "cat /etc/nvidia-imex/nodes_config.cfg").split() == addresses
        assert on(host, "nvidia-imex-ctl -N").endswith("Domain State: UP")
        assert "NCCL_MNNVL_ENABLE" in environment
    else:
        assert on(host, "systemctl is-active nvidia-fabricmanager") == "active"
        assert "ib_umad" in on(host, "ls /sys/module")

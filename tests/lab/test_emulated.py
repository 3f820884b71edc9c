"""Shipped stacks on machines that behave as those with GPUs do, from the claim to a completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from components.hosts import ssh
from components.machines.lab.network import Network, NetworkInputs
from tests.factories.machines import boot, machine
from tests.factories.run import FakeRun
from tests.lab.checkout import Checkout
from tests.lab.emulated.packages import RELEASE, of_no_release, of_release
from tests.lab.emulated.packages import machine as kernel
from tests.lab.emulated.rack import Rack, attended
from tests.lab.emulated.stand_in import GPUS, MACHINES, stand_in
from tests.lab.faults.origin import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.usefixtures("kept")]

MEMORY_MIB = 4096


@pytest.fixture
def rack(request: pytest.FixtureRequest, fleet: str, image: Path) -> Iterator[Rack]:
    """Boot machines with GPUs and no driver; whatever runs there ends with them."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    count, accelerator = request.param
    asked = [machine(network, fleet, f"m{rank}", rank + 2, image) for rank in range(count)]
    asked = [each.model_copy(update={"memory_mib": MEMORY_MIB}) for each in asked]
    with serving(network.subnet.replace(".0/24", ".1")) as mirror:
        made = Rack(fleet, list(zip(asked, boot(asked), strict=True)), mirror)
        made.furnish(kernel(GPUS, accelerator))
        made.offer(kernel(GPUS, accelerator), *of_release(RELEASE), *of_no_release())
        with attended(made):
            yield made
        ssh.close_all()


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
        project.up()
    finally:
        project.recover()
        project.destroy()

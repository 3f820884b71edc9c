"""The gates on real hosts that behave as trays with GPUs do: what is well passes, each fault is named."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from components.hosts import runs, ssh
from components.machines.lab.network import Network, NetworkInputs
from components.readiness.gates.kind import Gates, GatesInputs
from components.readiness.gates.planned import wants
from stacks.errors import Refusal
from tests.factories.machines import boot, machine
from tests.factories.run import FakeRun
from tests.factories.stacks import planned
from tests.lab.emulated import seen
from tests.lab.emulated.packages import OLDER, RELEASE, of_no_release, of_release
from tests.lab.emulated.packages import machine as kernel
from tests.lab.emulated.rack import GPUS, Rack, attended, on, settled
from tests.lab.faults.origin import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.long]

TRAY = ["tuning", "nvidia_driver", "limits", "imex", "dcgm"]
CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"
NODES = "/etc/nvidia-imex/nodes_config.cfg"


@pytest.fixture(scope="module")
def rack(fleet: str, image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Boot two trays and prepare them with the real roles, about a minute."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    asked = [machine(network, fleet, f"tray-{rank}", rank + 2, image) for rank in range(2)]
    asked = [each.model_copy(update={"memory_mib": 512}) for each in asked]
    with serving(network.subnet.replace(".0/24", ".1")) as mirror, pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "KEPT", tmp_path_factory.mktemp("kept"))
        made = Rack(fleet, list(zip(asked, boot(asked), strict=True)), mirror)
        made.furnish(kernel(GPUS))
        made.offer(kernel(GPUS), *of_release(RELEASE), *of_no_release())
        with attended(made):
            settled(made.inputs(TRAY))
            yield made
        ssh.close_all()


@pytest.fixture
def gates(rack: Rack) -> Iterator[GatesInputs]:
    """Return what a shipped stack wants of these trays; before and after a test they pass."""
    plan = planned("kimi-k3-gb300", {"machines.driver": RELEASE})
    addresses = {host.name: host.address for host in rack.hosts}
    inputs = GatesInputs(fleet=rack.fleet, hosts=rack.hosts, wants=wants(plan, addresses), after=[])
    _passes(inputs)
    yield inputs
    _passes(inputs)


def test_what_only_a_host_can_tell_follows_for_its_rank_and_a_look_finds_the_same(gates: GatesInputs) -> None:
    passed = Gates().create(gates, FakeRun())
    assert passed.environment["tray-1"] == {"GLOO_SOCKET_IFNAME": "host0", "NCCL_SOCKET_IFNAME": "=host0"}
    assert RELEASE in passed.shown["tray-0"]["driver"]
    assert Gates().read(gates, passed, FakeRun()).drift == {}


def test_mixed_drivers_are_named(rack: Rack, gates: GatesInputs) -> None:
    with says(rack.hosts[1], smi={"driver": OLDER}):
        said = refusal(gates)
    assert f"{OLDER}" in said
    assert f"{RELEASE}" in said
    assert "[driver-one; " in said


def test_a_bad_list_of_nodes_is_found_behind_an_active_daemon(rack: Rack, gates: GatesInputs) -> None:
    host = rack.hosts[1]
    kept = on(host, f"cat {NODES}")
    on(host, f"echo 10.9.9.9 >>{NODES}; systemctl restart nvidia-imex")
    assert on(host, "systemctl is-active nvidia-imex") == "active"
    said = refusal(gates)
    on(host, f"printf '%s\\n' '{kept}' >{NODES}; systemctl restart nvidia-imex")
    addresses = ", ".join(each.address for each in rack.hosts)
    assert f"tray-1: its domain holds {addresses}, 10.9.9.9, wanted is {addresses}; likely" in said
    assert "10.9.9.9 is UNAVAILABLE" in said


def test_trays_of_two_cliques_are_named(rack: Rack, gates: GatesInputs) -> None:
    with says(rack.hosts[1], smi={gpu: {"fabric/cliqueId": "7"} for gpu in range(GPUS)}):
        said = refusal(gates)
    assert said.startswith("tray-0, tray-1: tray-0 is in clique 32766 of cluster ")
    assert "; tray-1 is in clique 7 of cluster " in said


def test_a_link_that_is_down_is_named(rack: Rack, gates: GatesInputs) -> None:
    with says(rack.hosts[0], nvlink={2: {4: "<inactive>"}}):
        assert refusal(gates).startswith("tray-0: GPU 2 has the inactive NVLinks 4, wanted is ")


def test_memory_that_somebody_holds_is_named_with_process_and_unit(rack: Rack, gates: GatesInputs) -> None:
    host = rack.hosts[0]
    on(host, "systemd-run --quiet --unit=leftover sleep 600")
    pid = on(host, "systemctl show --value --property=MainPID leftover")
    held = {0: {"pids": {pid: "200000 MiB"}, "fb_memory_usage/free": "83262 MiB"}}
    with says(host, smi=held):
        said = refusal(gates)
    on(host, "systemctl stop leftover")
    assert said.startswith("tray-0: GPU 0 has 83262 of 284208 MiB free, held by ")
    assert pid in said.partition("wanted is")[0]
    assert "leftover.service" in said.partition("wanted is")[0]


def test_a_gpu_that_fell_off_the_bus_is_named_by_what_the_kernel_says(rack: Rack, gates: GatesInputs) -> None:
    host = rack.hosts[1]
    line = "[  812.000000] tray-1 kernel: NVRM: Xid (PCI:0003:06:00): 79, GPU has fallen off the bus."
    on(host, f"echo '{line}' >/etc/emulated/dmesg")
    with says(host, smi={"gpus": 3}):
        said = refusal(gates)
    on(host, "truncate --size=0 /etc/emulated/dmesg")
    assert "tray-1: the driver sees 3 GPUs, wanted is 4" in said
    assert "Xid 79" in said


def test_a_channel_that_is_gone_is_named(rack: Rack, gates: GatesInputs) -> None:
    host = rack.hosts[0]
    on(host, f"rm {CHANNEL}")
    said = refusal(gates)
    on(host, "systemctl restart rackstack-imex-channels")
    assert said.startswith("tray-0: ")
    assert "channel" in said.partition("wanted is")[0]


def test_a_tool_that_prints_what_nobody_knows_is_no_pass(rack: Rack, gates: GatesInputs) -> None:
    host = rack.hosts[0]
    with put(host, "diag", "DCGM 9: all is new"):
        assert refusal(gates).startswith("tray-0: dcgmi diag -r 2 -j ")


@contextmanager
def says(host: HostRecord, **changes: Mapping[Any, Any]) -> Iterator[None]:
    """Let a tool of a host say something else until the end of the block."""
    [answer] = changes
    with put(host, answer, seen.says(GPUS, "gb300", **changes)[answer]):
        yield


@contextmanager
def put(host: HostRecord, answer: str, text: str) -> Iterator[None]:
    """Let a tool of a host print a text until the end of the block."""
    path = f"/etc/emulated/{answer}"
    on(host, f"cp {path} /run/kept")
    assert ssh.run(host, f"cat >{path}", deadline=30, stdin=text).code == 0
    yield
    on(host, f"mv /run/kept {path}")


def refusal(inputs: GatesInputs) -> str:
    """Judge hosts of which something is not as it must be, and return all that is said."""
    with pytest.raises(Refusal) as refused:
        Gates().create(inputs, FakeRun())
    return str(refused.value)


def _passes(inputs: GatesInputs) -> None:
    Gates().create(inputs, FakeRun())

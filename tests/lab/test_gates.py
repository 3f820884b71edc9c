"""Gates on real hosts over real SSH: trays that are well pass, and each fault of one is told as it is seen.

The hosts' tools are stand-ins, brought there by the roles; nobody has run this on the hardware.
"""

from __future__ import annotations

import json
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from components.hosts import ssh
from components.readiness.gates import trial
from components.readiness.gates.kind import Gates, GatesInputs
from components.readiness.gates.planned import wants
from components.readiness.gates.proof import Collectives, CollectivesInputs
from stacks.errors import Incomplete, Refusal
from tests.factories.run import FakeRun
from tests.factories.stacks import planned
from tests.lab.emulated import seen
from tests.lab.emulated.packages import OLDER, RELEASE, of_no_release, of_release
from tests.lab.emulated.rack import GPUS, TRAY, Rack, trays
from tests.lab.faults.site import on, settle, spoilt
from tests.lab.test_collectives import ENDS, RUNS, SLOW
from tests.lab.test_unreachable import MENDED, unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.long]

SAYS: Final = "/etc/emulated"
NICS: Final = "/run/emulated/class/infiniband"  # mounted over the kernel's own
CHANNEL: Final = "/dev/nvidia-caps-imex-channels/channel0"
NODES: Final = "/etc/nvidia-imex/nodes_config.cfg"
B200: Final = 8
WRITE: Final = """
import json, pathlib, sys
for name, text in json.load(sys.stdin).items():
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
"""
XID: Final = (
    "[  812.100000] tray-1 kernel: NVRM: Xid (PCI:0003:06:00): 79, pid='<unknown>', name=<unknown>,"
    " GPU has fallen off the bus."
)
HANGS: Final = f"mv {SAYS}/diag /root/diag && mkfifo {SAYS}/diag"
"""Makes the diagnostic run, which prints that file, wait for somebody who writes it."""
HANGS_NO_MORE: Final = f"pkill -x cat; mv /root/diag {SAYS}/diag"
ASKED: Final = "timeout 30 sh -c 'until pgrep -x cat >/dev/null; do sleep 0.1; done'"
OTHER_CLIQUE: Final = {gpu: {"fabric/cliqueId": "32767"} for gpu in range(GPUS)}

CLUSTER: Final = "cluster 00000001-0000-0000-0000-000000000001"
FAR: Final = f"tray-1 is in clique 32767 of {CLUSTER}"

# Answers of the tools on tray-1 → what is said of them, and the names of all that is not as it must be.
ANSWERS: Final[dict[str, tuple[dict[str, Any], str, list[str]]]] = {
    "mixed drivers": (
        {"smi": {"driver": OLDER}},
        f"tray-1: the driver is {OLDER}, wanted is {RELEASE} as on tray-0; likely",
        ["driver-one"],
    ),
    "two cliques": (
        {"smi": OTHER_CLIQUE},
        f"tray-0, tray-1: tray-0 is in clique 32766 of {CLUSTER}; {FAR}, wanted is one cluster UUID and one",
        ["fabric-one-domain", "settings-without-domain"],
    ),
    "degraded fabric": (
        {"smi": {2: {"fabric/health/summary": "Limited Capacity", "fabric/health/bandwidth": "Degraded"}}},
        "tray-1: GPU 2 says summary Limited Capacity, bandwidth Degraded, wanted is no fault in any field",
        ["fabric-healthy"],
    ),
    "an NVLink down": (
        {"nvlink": {2: {7: "<inactive>"}}},
        "tray-1: GPU 2 has the inactive NVLinks 7, wanted is 18 at 53.125 GB/s; likely",
        ["nvlink-all-active"],
    ),
    "a failed diagnostic run": (
        {"diag": {"pcie": "Fail", "warning": "Detected 4 PCIe replays."}},
        "tray-1: the test pcie came to Fail: Detected 4 PCIe replays, wanted is Pass",
        ["health-diag"],
    ),
}


@pytest.fixture(scope="module")
def rack(fleet: str, image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Boot two trays and bring all up that is below the engine."""
    offered = (*of_release(RELEASE), *of_no_release())
    with trays(fleet, image, tmp_path_factory.mktemp("kept"), *offered) as made:
        settle(made.inputs(TRAY))
        yield made


@pytest.fixture
def inputs(rack: Rack) -> Iterator[GatesInputs]:
    """Return what `kimi-k3-gb300` wants of its trays; they must be well before and after."""
    asked = gated(rack, "kimi-k3-gb300")
    Gates().create(asked, FakeRun())
    yield asked
    Gates().create(asked, FakeRun())


def test_trays_that_are_well_pass_and_tell_what_only_they_know(inputs: GatesInputs) -> None:
    passed = Gates().create(inputs, FakeRun())
    assert set(passed.environment) == {"tray-0", "tray-1"}
    for host in inputs.hosts:
        route = on(host, f"ip -o -4 address show to {host.address}/32").split()
        assert passed.environment[host.name] == {
            "GLOO_SOCKET_IFNAME": route[1],
            "NCCL_SOCKET_IFNAME": f"={route[1]}",
        }
        assert RELEASE in passed.shown[host.name]["driver"]
        assert passed.shown[host.name]["channel"] == "234 0"
    assert Gates().read(inputs, passed, FakeRun()).drift == {}


@pytest.mark.parametrize(("changes", "said", "refused"), ANSWERS.values(), ids=list(ANSWERS))
def test_what_a_tray_says_is_told_with_what_it_should_say(
    inputs: GatesInputs, changes: dict[str, Any], said: str, refused: list[str]
) -> None:
    with saying(inputs.hosts[1], changes):
        told = refusal(inputs)
    assert said in told
    assert checks(told) == refused


def test_a_node_list_of_one_is_seen_although_the_service_is_active(inputs: GatesInputs) -> None:
    head, host = inputs.hosts
    on(host, f"cp {NODES} /root/nodes && echo {host.address} >{NODES} && systemctl restart nvidia-imex")
    try:
        assert on(host, "systemctl is-active nvidia-imex") == "active"
        assert on(host, "nvidia-imex-ctl -N").endswith("Domain State: UP")
        told = refusal(inputs)
    finally:
        on(host, f"mv /root/nodes {NODES} && systemctl restart nvidia-imex")
    assert (
        f"tray-1: its domain holds {host.address}, wanted is {head.address}, {host.address}; likely" in told
    )
    assert "tray-0: its domain is DEGRADED, wanted is domain UP with every node READY" in told
    assert f"NODE_MAP_MISMATCH from {head.address} to {host.address}" in told
    assert {"imex-members", "imex-domain-up", "imex-all-connected"} <= set(checks(told))


def test_a_tool_that_prints_what_nobody_knows_is_no_pass(inputs: GatesInputs) -> None:
    host = inputs.hosts[1]
    put(host, SAYS, {"diag": "DCGM 9: all is new"})
    try:
        told = refusal(inputs)
    finally:
        put(host, SAYS, seen.says(GPUS, "gb300"))
    assert told.startswith("tray-1: dcgmi diag -r 2 -j ")
    assert checks(told) == ["health-diag-answers"]


def test_memory_that_a_killed_run_left_is_named_by_process_and_unit(inputs: GatesInputs) -> None:
    host = inputs.hosts[1]
    on(host, "systemd-run --quiet --unit=leftover sleep 3600")
    pid = on(host, "systemctl show --value --property=MainPID leftover")
    holds = {1: {"pids": {pid: "281000 MiB"}, "fb_memory_usage/free": "2262 MiB"}}
    try:
        with saying(host, {"smi": holds}):
            told = refusal(inputs)
    finally:
        on(host, "systemctl stop leftover")
    assert "tray-1: GPU 1 has 2262 of 284208 MiB free, held by process " in told
    assert re.search(
        rf"process {pid} of leftover\.service \(\S*sleep 3600\) with 281000 MiB, wanted is", told
    )
    assert " MiB free and no such process; likely" in told
    assert checks(told) == ["memory-free"]


def test_a_gpu_off_the_bus_is_counted_and_its_xid_is_named(inputs: GatesInputs) -> None:
    host = inputs.hosts[1]
    put(host, SAYS, {"dmesg": f"{seen.DMESG}{XID}\n"})
    try:
        with saying(host, {"smi": {3: {"lost": True}}}):
            told = refusal(inputs)
    finally:
        put(host, SAYS, {"dmesg": seen.DMESG})
    assert "tray-1: the driver sees 3 GPUs, and has lost 00000003:06:00.0, wanted is 4; likely" in told
    assert "tray-1: this boot's kernel log has Xid 79 at PCI:0003:06:00, wanted is no Xid since" in told
    assert checks(told) == ["driver-sees-gpus", "health-no-xid"]


def test_a_channel_that_is_gone_is_drift_and_keeps_the_ranks_away(inputs: GatesInputs) -> None:
    host = inputs.hosts[1]
    passed = Gates().create(inputs, FakeRun())
    on(host, f"rm {CHANNEL}")
    try:
        drift = Gates().read(inputs, passed, FakeRun()).drift
        with pytest.raises(Incomplete) as unwell:
            Gates().update(inputs, inputs, passed, FakeRun())
    finally:
        on(host, "systemctl restart rackstack-imex-channels")
    assert drift == {"tray-1": {"gates": "channel is nothing, it was 234 0"}}
    told = str(unwell.value)
    assert f"tray-1: there is no {CHANNEL}, wanted is channel0 with the numbers 234, 0; likely" in told
    assert checks(told) == ["channel-there"]


def test_a_channel_that_the_ranks_may_not_use_is_told_with_its_mode(inputs: GatesInputs) -> None:
    host = inputs.hosts[1]
    on(host, f"chmod 600 {CHANNEL}")
    try:
        told = refusal(inputs)
    finally:
        on(host, f"chmod 660 {CHANNEL}")
    assert "tray-1: the user rackstack may not use channel0: crw-------" in told
    assert checks(told) == ["channel-usable"]


def test_a_port_that_is_down_or_slow_keeps_nodes_on_rdma_away(rack: Rack) -> None:
    asked = gated(rack, "kimi-k3-b200")
    with nodes(asked.hosts):
        Gates().create(asked, FakeRun())
        with port(asked.hosts[1], "mlx5_5", state="1: DOWN", phys_state="3: Disabled"):
            told = refusal(asked)
        assert "node-1: port 1 of mlx5_5 is 1: DOWN, 3: Disabled, wanted is 4: ACTIVE and 5: LinkUp" in told
        assert checks(told) == ["nic-active"]
        with port(asked.hosts[1], "mlx5_5", rate="200 Gb/sec (4X HDR)"):
            told = refusal(asked)
        assert "node-1: port 1 of mlx5_5 runs at 200 Gb/sec (4X HDR), wanted is 400 Gb/sec (4X NDR)" in told
        assert checks(told) == ["nic-rate"]
        Gates().create(asked, FakeRun())
    Gates().create(gated(rack, "kimi-k3-gb300"), FakeRun())


def test_a_tray_that_is_lost_while_its_tools_are_asked_is_named(
    inputs: GatesInputs, rack: Rack, soon_noticed: None
) -> None:
    del soon_noticed
    lost = inputs.hosts[1]
    passed = Gates().create(inputs, FakeRun())
    with ThreadPoolExecutor() as pool, spoilt(lost, HANGS, HANGS_NO_MORE):
        asking = pool.submit(refusal, inputs)
        on(lost, ASKED)
        with unreachable(rack):
            told = asking.result()
            drift = Gates().read(inputs, passed, FakeRun()).drift
    assert told == (
        f"tray-1: host tray-1 (root@{lost.address}:22) did not answer over SSH: the connection ended while a "
        f"command ran; {MENDED}"
    )
    assert list(drift) == ["tray-1"]
    assert "did not answer over SSH" in drift["tray-1"]["host"]


def test_a_tray_that_is_lost_while_ranks_exchange_data_is_named_and_the_others_end(
    inputs: GatesInputs, rack: Rack, soon_noticed: None
) -> None:
    del soon_noticed
    head, lost = inputs.hosts
    torch = f"mkdir /opt/slow && echo '{SLOW}' >/opt/slow/torch.py"
    away = f"systemctl stop {trial.UNIT} 2>/dev/null; rm -r /opt/slow"
    with ThreadPoolExecutor() as pool, spoilt(head, torch, away), spoilt(lost, torch, away):
        proving = pool.submit(unproved, exchanged(inputs))
        on(lost, RUNS)
        with unreachable(rack):
            told = proving.result()
        on(head, ENDS)
    assert told == (
        f"tray-1: host tray-1 (root@{lost.address}:22) did not answer over SSH: the connection ended while a "
        f"command ran; {MENDED}"
    )


@pytest.fixture
def soon_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the operator's side say something each second: it learns of the end only by an answer to that."""
    monkeypatch.setattr(ssh, "KEEPALIVE_SECONDS", 1)
    ssh.close_all()


def exchanged(inputs: GatesInputs) -> CollectivesInputs:
    """Return what a rank of each tray does, by a torch that never comes to an end."""
    members = [
        trial.Member(host=host.name, first=index, local=1, environment={"PYTHONPATH": "/opt/slow"})
        for index, host in enumerate(inputs.hosts)
    ]
    exchange = trial.Exchange(
        engine="serve",
        backend="gloo",
        python="/usr/bin/python3",
        address=inputs.hosts[0].address,
        port=29501,
        members=members,
    )
    facts = inputs.model_dump(include={"fleet", "hosts", "wants"})
    return CollectivesInputs(**facts, exchanges=[exchange], seen={}, after=[])


def unproved(inputs: CollectivesInputs) -> str:
    """Have ranks exchange data that do not come to an end, and return all that is said."""
    with pytest.raises(Refusal) as refused:
        Collectives().create(inputs, FakeRun())
    return str(refused.value)


def gated(rack: Rack, stack: str) -> GatesInputs:
    """Return what a shipped stack wants of these hosts, under the names that it gives them."""
    plan = planned(stack)
    names = [host.name for host in plan.hosts]
    hosts = [host.model_copy(update={"name": name}) for name, host in zip(names, rack.hosts, strict=True)]
    addresses = {host.name: host.address for host in hosts}
    return GatesInputs(fleet=rack.fleet, hosts=hosts, wants=wants(plan, addresses), after=[])


def refusal(inputs: GatesInputs) -> str:
    """Ask hosts that must be refused and return all that is said."""
    with pytest.raises(Refusal) as refused:
        Gates().create(inputs, FakeRun())
    return str(refused.value)


def checks(told: str) -> list[str]:
    """Return the names of what was not as it must be, in their order."""
    return re.findall(r"\[([a-z-]+); ", told)


@contextmanager
def saying(host: HostRecord, changes: Mapping[str, Any]) -> Iterator[None]:
    """Have the tools of a tray say something else, as `tests.factories.sights` takes it."""
    put(host, SAYS, seen.says(GPUS, "gb300", **changes))
    try:
        yield
    finally:
        put(host, SAYS, seen.says(GPUS, "gb300"))


@contextmanager
def nodes(hosts: list[HostRecord]) -> Iterator[None]:
    """Make nodes of eight B200 of the trays, with a NIC for each, as far as the gates look."""
    for host in hosts:
        put(host, SAYS, seen.says(B200, "b200"))
        put(host, NICS, devices())
    try:
        yield
    finally:
        for host in hosts:
            put(host, SAYS, seen.says(GPUS, "gb300"))
            on(host, f"rm -r {NICS}/*; cp -a {SAYS}/infiniband/. {NICS}")


@contextmanager
def port(host: HostRecord, device: str, **facts: str) -> Iterator[None]:
    """Have the kernel say something else of a device's port."""
    usual = {fact: devices()[f"{device}/ports/1/{fact}"] for fact in facts}
    put(host, f"{NICS}/{device}/ports/1", facts)
    try:
        yield
    finally:
        put(host, f"{NICS}/{device}/ports/1", usual)


def devices() -> dict[str, str]:
    """Return path below the class of RDMA devices → content."""
    start = "infiniband/"
    machine = seen.machine(B200, "b200")
    return {path.removeprefix(start): text for path, text in machine.items() if path.startswith(start)}


def put(host: HostRecord, folder: str, files: Mapping[str, str]) -> None:
    """Write files of a host, all of them over one connection."""
    text = json.dumps({f"{folder}/{path}": content for path, content in files.items()})
    answer = ssh.run(host, f"python3 -c {shlex.quote(WRITE)}", deadline=30, stdin=text)
    assert answer.code == 0, answer.err

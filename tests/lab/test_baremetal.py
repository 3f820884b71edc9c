"""Lab hosts as machines that a person has: claimed, refused, taken over, and left as they were found.

The tests share two machines and run in the order of this file; each leaves them unclaimed and as they were.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from components.fleet_inventory import Inventory, InventoryInputs, InventoryOutputs
from components.hosts import ssh
from components.hosts.playbook import Playbook
from components.hosts.record import Contact
from components.machines.baremetal.host import Host, HostInputs
from components.machines.lab import keys
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import EffectError, Refusal, Unreachable
from tests.factories import playbooks
from tests.factories.machines import boot, machine
from tests.factories.run import FakeRun
from tests.lab.outside import said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("kept")]

LEASE = "/var/lib/rackstack-lease"
CHECKPOINT = "/var/lib/rackstack/checkpoints/some/1"
SECOND = 77
"""Host number of a second address of a machine."""
# All that a fleet could leave: files of its own, users, units, rules, settings.
FOUND = (
    "find /etc /opt /root /var/lib/rackstack* /var/cache/rackstack* ! -path '/etc/ssl/*' ! -name '*-'"
    " 2>/dev/null | sort; getent passwd; nft list tables; systemctl list-unit-files --no-legend 'rackstack*';"
    "cat /proc/sys/net/ipv4/ip_local_port_range"
)
FAKE_BUS = (
    "for each in a b c; do mkdir -p /run/bus/$each; echo 0x10de >/run/bus/$each/vendor;"
    "echo 0x030200 >/run/bus/$each/class; done"
)
"""Three 3D controllers of NVIDIA, as a PCI bus shows them."""


@pytest.fixture(scope="module")
def machines(fleet: str, image: Path) -> list[HostRecord]:
    """Boot two machines, about 5 s."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    made = boot([machine(network, fleet, f"m{each}", each + 1, image) for each in (1, 2)])
    return [each.record for each in made]


@pytest.fixture
def one(machines: list[HostRecord]) -> Iterator[HostRecord]:
    """Lend the first machine; it must be as it was afterwards."""
    found = said(machines[0], FOUND)
    yield machines[0]
    assert said(machines[0], FOUND) == found


@pytest.fixture
def claim(one: HostRecord) -> Iterator[Callable[..., HostInputs]]:
    """Return what makes the inputs of a claim; whatever is claimed is given back."""
    asked: list[HostInputs] = []

    def made(host: HostRecord = one, **changed: Any) -> HostInputs:
        fields = host.model_dump(include=set(Contact.model_fields), exclude={"name"})
        plain: dict[str, Any] = {
            "fleet": "first-000001",
            "name": "node-0",
            "type": "plain-host",
            "arch": said(host, "uname -m"),
            "vendor": "cpu",
            "accelerator": "cpu",
            "gpus": 1,
            "memory_mib": 100,
            "brought": {},
        }
        asked.append(HostInputs(**(plain | fields | changed)))
        return asked[-1]

    yield made
    for each in asked:
        try:
            Inventory().delete(*record(each), FakeRun())
        except EffectError:
            continue  # a way in that was wrong on purpose


def record(*claims: HostInputs) -> tuple[InventoryInputs, InventoryOutputs]:
    """Return the record of a fleet of such machines, as a state would hold it."""
    hosts = [Contact(**{name: getattr(each, name) for name in Contact.model_fields}) for each in claims]
    inputs = InventoryInputs(fleet=claims[0].fleet, provider="baremetal", hosts=hosts)
    return inputs, InventoryOutputs(incarnation="any")


def refusal(inputs: HostInputs) -> str:
    """Claim a machine that cannot be had, and return the whole sentence."""
    with pytest.raises(EffectError) as refused:
        Host().create(inputs, FakeRun())
    return str(refused.value)


def test_a_machine_is_claimed_looked_at_and_given_back(claim: Any, one: HostRecord) -> None:
    inputs = claim()
    made = Host().create(inputs, FakeRun())
    assert made.record.interface == "eth0"
    assert '"fleet": "first-000001"' in said(one, f"cat {LEASE}; stat -c %a {LEASE}")
    seen = Host().read(inputs, made, FakeRun())
    assert seen is not None
    assert seen.drift == {}
    assert ssh.run(made.record, "id -u", deadline=20).out.strip() == "0"
    Host().delete(inputs, made, FakeRun())


def test_a_wrong_host_key_is_refused(claim: Any, machines: list[HostRecord]) -> None:
    said_ = refusal(claim(host_key=machines[1].host_key))
    assert "it shows another host key than the known one; another machine holds the address" in said_


def test_a_wrong_user_and_a_wrong_key_are_refused(claim: Any, one: HostRecord, tmp_path: Path) -> None:
    assert f"(nobody@{one.address}:22) did not answer over SSH: it refuses the key" in refusal(
        claim(user="nobody")
    )
    keys.make_pair(tmp_path / "other", "test")
    assert f"it refuses the key {tmp_path}/other" in refusal(claim(identity_file=str(tmp_path / "other")))
    assert f"the key file {tmp_path}/none does not exist here" in refusal(
        claim(identity_file=str(tmp_path / "none"))
    )


def test_everything_that_a_machine_is_not_is_said_at_once(claim: Any, one: HostRecord) -> None:
    wanted = claim(
        type="gb300-nvl4", arch="riscv64", vendor="nvidia", accelerator="gb300", gpus=4, memory_mib=10**8
    )
    told = refusal(wanted)
    assert told.startswith(f"node-0 ({one.address}): it is ")
    assert "and gb300-nvl4 is riscv64" in told
    assert "GPUs on its PCI bus, and gb300-nvl4 has 4 x gb300: find the missing ones" in told
    assert "the plan needs 100000000 MiB: give the machine more" in told


def test_accelerators_are_counted_on_the_bus(claim: Any, one: HostRecord) -> None:
    bus = "/sys/bus/pci/devices"
    said(one, f"{FAKE_BUS}; mount --bind /run/bus {bus}")
    try:
        three = claim(type="gb300-nvl4", vendor="nvidia", accelerator="gb300", gpus=4)
        assert "it has 3 GPUs on its PCI bus, and gb300-nvl4 has 4 x gb300" in refusal(three)
        Host().create(claim(type="some", vendor="nvidia", accelerator="gb300", gpus=3), FakeRun())
    finally:
        said(one, f"umount {bus}; rm -r /run/bus")


def test_a_clock_that_is_off_is_refused(claim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # All lab hosts have this machine's clock, so the operator's is moved instead.
    wanted, own = claim(), time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: own() + 7200)
        told = refusal(wanted)
    assert "its clock says " in told
    assert re.search(r", 7(19|20)\d s behind it, and at most 60 s may lie between them", told)


@pytest.mark.long
def test_a_machine_of_another_fleet_is_refused_until_that_is_named_as_gone(
    claim: Any, one: HostRecord
) -> None:
    theirs = claim(fleet="dead-000002", name="tray-7")
    held = Host().create(theirs, FakeRun())
    wanted = {"prepare_packages": ["g++"], "prepare_memory_mib": 128}
    prepare = playbooks.inputs([held.record], "dead-000002", "prepare", wanted)
    prepared = Playbook().create(prepare, FakeRun())

    told = refusal(claim())
    assert "it is leased by fleet dead-000002 of " in told
    assert "write `take_over: dead-000002` beside this one in machines.hosts" in told
    assert said(one, "id -un rackstack") == "rackstack"

    ours = claim(take_over="dead-000002")
    made = Host().create(ours, FakeRun())
    assert Host().read(ours, made, FakeRun()) is not None
    assert said(one, f"cat {LEASE}").count("first-000001") == 1
    assert said(one, "ls /var/lib/rackstack /opt/rackstack /etc/rackstack 2>/dev/null || true") == ""

    run = FakeRun()  # the fleet was not dead at all
    Playbook().delete(prepare, prepared, run)
    Host().delete(theirs, held, run)
    assert "is left alone: fleet first-000001 of " in run.said[0]
    assert said(one, f"cat {LEASE}").count("first-000001") == 1


@pytest.mark.long
def test_a_machine_whose_name_another_one_gets_is_left_as_it_was_found(
    claim: Any, machines: list[HostRecord]
) -> None:
    first, second = claim(), claim(machines[1])
    held = Host().create(first, FakeRun())
    wanted = {"prepare_packages": ["g++"], "prepare_memory_mib": 128}
    before = playbooks.inputs([held.record], first.fleet, "prepare", wanted)
    made = Playbook().create(before, FakeRun())
    Host().delete(first, held, FakeRun())  # the engine replaces the machine first
    after = before.model_copy(update={"hosts": [Host().create(second, FakeRun()).record]})
    run = FakeRun()
    there = Playbook().update(before, after, made, run)
    assert not [told for told in run.said if "left alone" in told or "not undone" in told]
    Playbook().delete(after, there, FakeRun())


def test_two_addresses_of_one_machine_are_refused(claim: Any, one: HostRecord) -> None:
    second = f"{one.address.rpartition('.')[0]}.{SECOND}"
    said(one, f"ip address add {second}/24 dev eth0")
    try:
        with ThreadPoolExecutor() as pool:
            asked = [claim(), claim(name="node-1", address=second)]
            tried = [pool.submit(Host().create, each, FakeRun()) for each in asked]
        failed = [str(each.exception()) for each in tried if each.exception()]
        assert len(failed) == 1
        assert "of this fleet" in failed[0] or "took it just now" in failed[0]
        assert any("under another address" in refusal(each) for each in asked if _not_held(each, one))
    finally:
        said(one, f"ip address del {second}/24 dev eth0")


def _not_held(asked: HostInputs, host: HostRecord) -> bool:
    return f'"name": "{asked.name}"' not in said(host, f"cat {LEASE}")


def test_one_of_two_that_is_silent_leaves_the_other_claimed(claim: Any, machines: list[HostRecord]) -> None:
    first, second = claim(), claim(machines[1], name="node-1", port=9)
    made = Host().create(first, FakeRun())
    with pytest.raises(Unreachable, match=r"^host node-1 \(root@[\d.]+:9\) did not answer over SSH"):
        Host().create(second, FakeRun())
    with pytest.raises(Refusal, match=r"still has: maybe the lease of node-1 .* did not answer over SSH"):
        Inventory().delete(*record(first, second), FakeRun())
    assert Host().read(first, made, FakeRun()) is None


@pytest.mark.long
def test_a_fleet_leaves_what_it_is_told_to_keep(claim: Any, one: HostRecord) -> None:
    for keep in (True, False):
        inputs = claim()
        made = Host().create(inputs, FakeRun())
        prepare = playbooks.inputs(
            [made.record],
            inputs.fleet,
            "prepare",
            {
                "prepare_packages": ["g++"],
                "prepare_memory_mib": 128,
                "prepare_keep_checkpoints": keep,
            },
        )
        checkpoint = playbooks.inputs(
            [made.record],
            inputs.fleet,
            "checkpoint",
            {
                "checkpoint_home": CHECKPOINT,
                "checkpoint_url": "http://127.0.0.1:9/",
                "checkpoint_files": [],
                "checkpoint_keep": keep,
            },
        )
        runs = [(each, Playbook().create(each, FakeRun())) for each in (prepare, checkpoint)]
        for each, outputs in reversed(runs):
            Playbook().delete(each, outputs, FakeRun())
        Host().delete(inputs, made, FakeRun())
        Inventory().delete(*record(inputs), FakeRun())
        left = said(one, "find /var/lib/rackstack* 2>/dev/null || true").split()
        assert (f"{CHECKPOINT}/.verified" in left) is keep
        assert [path for path in left if not CHECKPOINT.startswith(path)] == [
            f"{CHECKPOINT}/.verified"
        ] * keep


@pytest.mark.long
def test_what_no_state_knows_is_swept_and_checkpoints_stay(claim: Any, one: HostRecord) -> None:
    inputs = claim()
    made = Host().create(inputs, FakeRun())
    wanted = {"prepare_packages": ["g++"], "prepare_memory_mib": 128}
    Playbook().create(playbooks.inputs([made.record], inputs.fleet, "prepare", wanted), FakeRun())
    said(one, f"mkdir -p {CHECKPOINT}; touch {CHECKPOINT}/.verified")
    run = FakeRun()
    Inventory().delete(*record(inputs), run)
    assert "what it set up on node-0" in run.said[0]
    assert said(one, f"ls {CHECKPOINT}/.verified; ls /opt/rackstack {LEASE} 2>/dev/null || true") == (
        f"{CHECKPOINT}/.verified"
    )
    said(one, "rm -r /var/lib/rackstack")


def test_a_claim_that_is_killed_can_be_taken_up_or_swept(claim: Any, one: HostRecord) -> None:
    inputs = claim()
    first = Host().create(inputs, FakeRun())  # whose answer nobody kept
    again = Host().create(inputs, FakeRun())
    assert again.incarnation == first.incarnation
    Host().delete(inputs, again.model_copy(update={"incarnation": "another"}), FakeRun())
    assert "first-000001" in said(one, f"cat {LEASE}")
    Inventory().delete(*record(inputs), FakeRun())


def test_sudo_that_asks_for_a_password_is_told(claim: Any, one: HostRecord) -> None:
    said(one, "useradd --create-home ann && mkdir -m 700 /home/ann/.ssh")
    try:
        said(one, "cp /root/.ssh/authorized_keys /home/ann/.ssh/ && chown -R ann /home/ann/.ssh")
        assert "it refuses root to ann (sudo: a password is required): log in as root" in refusal(
            claim(user="ann")
        )
    finally:
        said(one, "userdel --force --remove ann 2>/dev/null; true")


def test_a_lease_is_written_once_however_many_want_it(claim: Any, one: HostRecord) -> None:
    asked = [claim(fleet=f"fleet-00000{each}") for each in range(4)]
    with ThreadPoolExecutor() as pool:
        tried = [pool.submit(Host().create, each, FakeRun()) for each in asked]
    won = [each for each in tried if each.exception() is None]
    assert len(won) == 1
    assert won[0].result().incarnation in said(one, f"cat {LEASE}")

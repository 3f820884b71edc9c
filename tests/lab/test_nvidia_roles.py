"""Roles below the engine on real hosts that behave as machines with GPUs do, as far as documents tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from components.hosts.playbook import Playbook
from components.hosts.record import Contact
from components.machines.baremetal.host import Host, HostInputs
from tests.factories.run import FakeRun
from tests.lab.emulated.packages import NEWER, OLDER, RELEASE, REVISION, of_no_release, of_release
from tests.lab.emulated.packages import machine as kernel
from tests.lab.emulated.rack import GPUS, TRAY, Rack, trays
from tests.lab.faults.site import on, refusal, settle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.long]

NODE = ["tuning", "nvidia_driver", "limits", "rdma", "fabric_manager", "dcgm"]
OURS = "find /etc -name '*rackstack*' -not -path '/etc/ssh/*'"  # SSH is what makes it a lab host
VERSION = "dpkg-query --show --showformat '${Version} ${db:Status-Want}'"


@pytest.fixture(scope="module")
def rack(fleet: str, image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Boot two trays whose source has two releases."""
    offered = (*of_release(RELEASE), *of_release(OLDER), *of_no_release())
    with trays(fleet, image, tmp_path_factory.mktemp("kept"), *offered) as made:
        yield made


def test_a_tray_without_a_driver_is_claimed_by_what_its_bus_shows(rack: Rack) -> None:
    for host in rack.hosts:
        assert on(host, "command -v nvidia-smi nvidia-imex-ctl dcgmi; ls /proc/driver; ls /sys/module") == ""
        assert claimed(rack, host).endswith(f"on its PCI bus {GPUS} of vendor 10de")


def test_a_release_that_no_source_has_is_named_with_those_that_are_there(rack: Rack) -> None:
    wish = {"nvidia-driver-580-open": "580.65.06", "libnvidia-nscq": "580.65.06"}
    said = refusal(rack.inputs(TRAY, nvidia_driver_release="580.65.06", nvidia_driver_packages=wish))
    hosts, _, reason = said.partition(": ")
    assert sorted(hosts.split(", ")) == ["tray-0", "tray-1"]
    assert reason.startswith("package nvidia-driver-580-open 580.65.06 is in no package source of this host")
    assert f"(they have {RELEASE}-{REVISION}, {OLDER}-{REVISION}): bring it into the mirror" in said


def test_trays_are_brought_up_with_one_restart_each_and_stay(rack: Rack) -> None:
    run = FakeRun()
    inputs = rack.inputs(TRAY)
    made = settle(inputs, run)
    restarts = [line for line in run.said if ": reboot: restart tray-" in line]
    assert [line.partition(" because ")[0] for line in restarts] == [
        "tray-0: reboot: restart tray-0 (1 of 2)",
        "tray-1: reboot: restart tray-1 (2 of 2)",
    ], run.said
    assert restarts[0].endswith("because the kernel was started without init_on_alloc=0")
    for host in rack.hosts:
        assert on(host, f"{VERSION} nvidia-driver-580-open") == f"{RELEASE}-{REVISION} hold"
        assert on(host, f"{VERSION} nvidia-imex") == f"{RELEASE}-{REVISION} hold"
        assert on(host, "cat /etc/nvidia-imex/nodes_config.cfg").split() == [
            each.address for each in rack.hosts
        ]
        assert on(host, "stat --format='%F %a %U:%G %t' /dev/nvidia-caps-imex-channels/channel0") == (
            "character special file 660 root:rackstack ea"
        )
        assert on(host, "cat /proc/sys/kernel/numa_balancing") == "0"
        table = on(host, "nvidia-imex-ctl -N")
        assert table.endswith("Domain State: UP")
    again = FakeRun()
    Playbook().update(inputs, inputs, made, again)
    assert again.changes == []


def test_a_tray_with_a_driver_is_claimed_by_the_names_that_it_lists(rack: Rack) -> None:
    settle(rack.inputs(TRAY))
    for host in rack.hosts:
        assert claimed(rack, host).endswith(f"{GPUS} x NVIDIA GB300")


def test_what_an_upgrade_moved_is_seen_and_brought_back(rack: Rack) -> None:
    inputs = rack.inputs(TRAY)
    made = settle(inputs)
    rack.offer(kernel(GPUS), *of_release(NEWER), *of_release(RELEASE), *of_no_release())
    host = rack.hosts[1]
    on(host, "apt-get -q update && rm /etc/apt/preferences.d/60-rackstack*")
    upgrade = "apt-get -q --yes --allow-change-held-packages install nvidia-driver-580-open nvidia-imex"
    on(host, upgrade, seconds=120)
    assert "Driver/library version mismatch" in on(host, "nvidia-smi || true")
    drift = Playbook().read(inputs, made, FakeRun()).drift
    assert set(drift) == {"tray-1"}
    was = f"was moved to {NEWER}-{REVISION} from {RELEASE}-{REVISION}: `up` brings that back and holds it"
    assert f"package nvidia-driver-580-open {was}" in drift["tray-1"]["nvidia_driver"]
    assert f"package nvidia-imex {was}" in drift["tray-1"]["imex"]
    settle(inputs)
    assert on(host, f"{VERSION} nvidia-imex") == f"{RELEASE}-{REVISION} hold"


def test_a_package_that_is_not_held_any_more_is_seen(rack: Rack) -> None:
    inputs = rack.inputs(TRAY)
    made = settle(inputs)
    on(rack.hosts[0], "apt-mark unhold nvidia-imex")
    drift = Playbook().read(inputs, made, FakeRun()).drift
    assert drift == {
        "tray-0": {
            "imex": "package nvidia-imex is not held any more, so an upgrade may move it: `up` holds it again"
        }
    }
    settle(inputs)


def test_channels_come_back_with_the_host(rack: Rack) -> None:
    host = rack.hosts[0]
    on(host, "systemctl reboot || true")
    active = "until systemctl is-active nvidia-imex; do sleep 0.2; done"
    rack.wait(host, f"{active}; stat /dev/nvidia-caps-imex-channels/channel0")
    settle(rack.inputs(TRAY))


def test_a_stale_daemon_on_the_port_is_named(rack: Rack) -> None:
    host = rack.hosts[0]
    on(
        host,
        "systemctl stop nvidia-imex; systemd-run --quiet --unit=stale --property=Type=forking"
        " nvidia-imex -c /etc/nvidia-imex/config.cfg",
    )
    said = refusal(rack.inputs(TRAY))
    assert "tray-0: port 50000 is taken by '/usr/bin/python3 /usr/bin/nvidia-imex" in said
    assert "of stale.service), and the plan needs it: end that process, then run again" in said
    on(host, "systemctl stop stale")
    settle(rack.inputs(TRAY))


def test_a_driver_of_another_release_restarts_hosts_in_order(rack: Rack) -> None:
    rack.offer(kernel(GPUS), *of_release(NEWER), *of_release(RELEASE), *of_no_release())
    run = FakeRun()
    settle(rack.inputs(TRAY, **newer()), run)
    restarts = [line for line in run.said if ": reboot: restart tray-" in line]
    assert [line.partition(": ")[0] for line in restarts] == ["tray-0", "tray-1"]
    assert restarts[0].endswith(f"because driver {RELEASE} is loaded and the plan says {NEWER}")
    settle(rack.inputs(TRAY))


def test_a_host_that_does_not_come_back_is_named_and_the_next_is_left_alone(rack: Rack) -> None:
    rack.off.add("tray-0")
    try:
        said = refusal(rack.inputs(TRAY, reboot_seconds=20, **newer()))
    finally:
        rack.off.clear()
    assert (
        f"tray-0: it was restarted because driver {RELEASE} is loaded and the plan says {NEWER}, and did"
        in said
    )
    assert "did not come back within 20 s" in said
    assert "look at its console, start it, then run again" in said
    assert RELEASE in on(rack.hosts[1], "cat /proc/driver/nvidia/version")
    rack.wait(rack.hosts[0], "true")
    settle(rack.inputs(TRAY))


def test_a_limit_that_something_else_sets_is_named(rack: Rack) -> None:
    other = "/etc/systemd/system/rackstack-limits.service.d/99-other.conf"
    for host in rack.hosts:
        on(host, f"mkdir -p $(dirname {other}); printf '[Service]\\nLimitNOFILE=1024\\n' >{other}")
    said = refusal(rack.inputs(["limits"]))
    assert "tray-0, tray-1: a unit of user rackstack may lock unlimited KiB of memory and open 1024" in said
    assert "files, and RDMA and the engine need unlimited and 65536" in said
    for host in rack.hosts:
        on(host, f"rm -r $(dirname {other})")
    settle(rack.inputs(["limits"]))


def test_fabric_manager_is_refused_on_trays(rack: Rack) -> None:
    said = refusal(rack.inputs([*TRAY, "fabric_manager"], fabric_manager_accelerator="gb300"))
    assert "tray-0, tray-1: it has gb300, whose NVLink switches are in trays of their own" in said


def test_everything_goes_and_drivers_stay_where_they_are_kept(rack: Rack) -> None:
    for keep in (False, True):
        inputs = rack.inputs(TRAY, packages_keep=keep)
        made = Playbook().create(inputs, FakeRun())
        shrunk = rack.inputs(["limits"], packages_keep=keep)
        Playbook().delete(shrunk, made, FakeRun())
        for host in rack.hosts:
            assert on(host, f"apt-mark showhold; {OURS}") == ""
            assert "init_on_alloc" not in on(host, "cat /boot/grub/grub.cfg")
            there = on(
                host, f"{VERSION} nvidia-driver-580-open 2>/dev/null; ls /etc/nvidia-imex 2>&1 || true"
            )
            kept = f"{RELEASE}-{REVISION} installconfig.cfg"
            assert there == (
                kept if keep else "ls: cannot access '/etc/nvidia-imex': No such file or directory"
            )


def test_a_daemon_of_a_person_runs_again_by_its_own_list_and_settings(rack: Rack) -> None:
    nodes, reserved = "/etc/nvidia-imex/nodes_config.cfg", "/proc/sys/net/ipv4/ip_local_reserved_ports"
    for host in rack.hosts:
        on(host, f"echo {host.address} >{nodes}; echo 8080 >{reserved}; systemctl enable --now nvidia-imex")
    inputs = rack.inputs(["nvidia_driver", "imex"])
    made = settle(inputs)
    for host in rack.hosts:
        assert on(host, f"cat {nodes} {reserved}").split() == [
            *(each.address for each in rack.hosts),
            "50000,50005",
        ]
    Playbook().delete(inputs, made, FakeRun())
    for host in rack.hosts:
        assert on(host, f"cat {nodes} {reserved}").split() == [host.address, "8080"]
        assert on(host, "systemctl is-enabled nvidia-imex; systemctl is-active nvidia-imex").split() == [
            "enabled",
            "active",
        ]
        on(host, "systemctl disable --now nvidia-imex")


def test_nodes_run_fabric_manager_of_their_driver_over_the_modules_that_it_needs(rack: Rack) -> None:
    tools = {"prepare_packages": ["g++", "infiniband-diags", "rdma-core"]}
    settle(rack.inputs(NODE, **tools))
    for host in rack.hosts:
        assert "Detected NVL5+ system" in on(host, "journalctl -o cat -u nvidia-fabricmanager")
    on(rack.hosts[0], "rm /usr/lib/emulated/modules/ib_umad; rmdir /run/emulated/module/ib_umad")
    said = refusal(rack.inputs(NODE, **tools))
    assert "tray-0: kernel module ib_umad is not loaded" in said
    on(rack.hosts[0], "touch /usr/lib/emulated/modules/ib_umad")
    inputs = rack.inputs(NODE, **tools)
    made = Playbook().create(inputs, FakeRun())
    Playbook().delete(inputs, made, FakeRun())
    for host in rack.hosts:
        assert on(host, f"apt-mark showhold; {OURS}") == ""


def claimed(rack: Rack, host: HostRecord) -> str:
    """Claim a tray, see that it is what it was claimed for, give it back; return what was said of it."""
    known = {name: getattr(host, name) for name in Contact.model_fields}
    wanted: dict[str, Any] = {"type": "gb300-nvl4", "vendor": "nvidia", "accelerator": "gb300", "gpus": GPUS}
    arch = on(host, "uname -m")  # of this machine; a tray's is aarch64
    inputs = HostInputs(**known, **wanted, fleet=rack.fleet, arch=arch, memory_mib=100, brought={})
    run = FakeRun()
    made = Host().create(inputs, run)
    seen = Host().read(inputs, made, FakeRun())
    assert seen is not None
    assert seen.drift == {}
    Host().delete(inputs, made, FakeRun())
    [said] = [line for line in run.said if "is claimed" in line]
    return said


def newer() -> dict[str, object]:
    """Return the variables that ask for the newer release."""
    return {
        "nvidia_driver_release": NEWER,
        "nvidia_driver_packages": {"nvidia-driver-580-open": NEWER, "libnvidia-nscq": NEWER},
        "imex_packages": {"nvidia-imex": NEWER},
        "imex_driver": NEWER,
    }

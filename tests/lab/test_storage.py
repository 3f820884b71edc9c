"""Where checkpoints lie, on a real host: a folder that is mounted and let go, and disks that are refused.

A lab host has no disks, so `lsblk` is a stand-in there. The one that is formatted is a loop device of this
machine, lent to the host; what udev would say of it, the stand-in asks.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from components.hosts import ssh
from components.hosts.playbook import Playbook
from components.machines.lab.network import Network, NetworkInputs
from stacks.errors import Incomplete
from tests.factories import playbooks
from tests.factories.machines import boot, machine
from tests.factories.run import FakeRun
from tests.lab.faults.site import refusal
from tests.lab.outside import said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from components.hosts.playbook import PlaybookInputs
    from components.hosts.record import HostRecord

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.usefixtures("kept")]

PLACE: Final = "/var/lib/rackstack/checkpoints"
UNIT: Final = "var-lib-rackstack-checkpoints.mount"
DISK: Final[dict[str, Any]] = {
    "name": "nvme0n1",
    "path": "/dev/nvme0n1",
    "type": "disk",
    "serial": "S0EXAMPLE0001",
    "size": 1 << 40,
    "ro": False,
    "fstype": None,
    "label": None,
    "uuid": None,
    "pttype": "gpt",
    "mountpoints": [None],
    "children": [
        {
            "name": "nvme0n1p1",
            "path": "/dev/nvme0n1p1",
            "type": "part",
            "fstype": "ext4",
            "mountpoints": ["/home"],
        }
    ],
}


SERIAL: Final = "S0EMPTY0001"
UUID: Final = "a6f4c96d-d0bf-5c5c-a4a4-1cf520b88d3f"
"""Of the file system that the role makes on that disk, as files/storage.py has it."""
LSBLK: Final = Path(__file__).parent / "data" / "lsblk"
"""One that asks the kernel, since no udev has told it."""


@pytest.fixture(scope="module")
def host(fleet: str, image: Path) -> HostRecord:
    """Boot one machine."""
    network = Network().create(NetworkInputs(fleet=fleet), FakeRun())
    return boot([machine(network, fleet, "tray-0", 2, image)])[0].record


def test_a_path_that_is_no_folder_is_refused(host: HostRecord, fleet: str) -> None:
    assert (
        "tray-0: machines.storage.path says /mnt/nvme, and no folder is there, so the checkpoint would fill "
        "the disk of the system: mount it there, or name a folder that every machine has"
    ) in refusal(wished(host, fleet, "path", "/mnt/nvme"))


def test_a_folder_is_mounted_seen_when_it_goes_and_left_with_what_it_holds(
    host: HostRecord, fleet: str
) -> None:
    said(host, "mkdir -p /mnt/nvme")
    inputs = wished(host, fleet, "path", "/mnt/nvme")
    made = Playbook().create(inputs, FakeRun())
    said(host, f"touch {PLACE}/kept")
    assert said(host, "ls /mnt/nvme/rackstack-checkpoints") == "kept"
    assert Playbook().read(inputs, made, FakeRun()).drift == {}
    said(host, f"systemctl stop {UNIT}")
    assert "storage" in Playbook().read(inputs, made, FakeRun()).drift["tray-0"]
    made = Playbook().update(inputs, inputs, made, FakeRun())
    assert said(host, f"ls {PLACE}") == "kept"
    again = FakeRun()
    Playbook().update(inputs, inputs, made, again)
    assert again.changes == []
    Playbook().delete(inputs, made, FakeRun())
    assert said(
        host, f"ls /mnt/nvme/rackstack-checkpoints; ls /etc/systemd/system/{UNIT} 2>/dev/null || true"
    ) == ("kept")
    said(host, "rm -r /mnt/nvme")


def test_a_mount_without_its_unit_is_not_emptied_with_the_folders_around_it(
    host: HostRecord, fleet: str
) -> None:
    said(host, "mkdir -p /mnt/nvme/rackstack-checkpoints; touch /mnt/nvme/rackstack-checkpoints/held")
    wanted = wished(host, fleet, "path", "/mnt/nvme")
    inputs = wanted.model_copy(update={"variables": wanted.variables | {"prepare_keep_checkpoints": False}})
    made = Playbook().create(inputs, FakeRun())
    said(host, f"rm /etc/systemd/system/{UNIT}; systemctl daemon-reload; ls {PLACE}/held")
    Playbook().delete(inputs, made, FakeRun())
    assert said(host, "ls /mnt/nvme/rackstack-checkpoints; ls -d /var/lib/rackstack 2>/dev/null || true") == (
        "held"
    )


def test_storage_that_the_stack_names_no_more_is_unmounted_and_keeps_what_it_holds(
    host: HostRecord, fleet: str
) -> None:
    said(host, "mkdir -p /mnt/nvme")
    inputs = wished(host, fleet, "path", "/mnt/nvme")
    made = Playbook().create(inputs, FakeRun())
    said(host, f"touch {PLACE}/held; systemd-run --unit=reader sh -c 'cd {PLACE}; exec sleep 600'")
    dropped = inputs.model_copy(update={"host_variables": {}})
    for _ in range(2):
        with pytest.raises(Incomplete) as failed:
            Playbook().update(inputs, dropped, made, FakeRun())
        assert f"tray-0: {PLACE} is still mounted although its unit was stopped" in failed.value.reasons[0]
    said(host, "systemctl stop reader")
    made = Playbook().update(inputs, dropped, made, FakeRun())
    assert Playbook().read(dropped, made, FakeRun()).drift == {}
    assert said(host, f"ls {PLACE}; ls /etc/systemd/system/{UNIT} 2>/dev/null || true") == ""
    assert "held" in said(host, "ls /mnt/nvme/rackstack-checkpoints")
    Playbook().delete(dropped, made, FakeRun())


def test_another_file_system_on_the_path_is_seen_and_refused(host: HostRecord, fleet: str) -> None:
    said(host, "mkdir -p /data; mount -t tmpfs none /data")
    inputs = wished(host, fleet, "path", "/data")
    made = Playbook().create(inputs, FakeRun())
    # As after a boot at which nobody mounts it: systemd makes the folder that it mounts from.
    said(host, f"systemctl stop {UNIT}; umount /data; systemctl start {UNIT}; ls {PLACE}")
    told = Playbook().read(inputs, made, FakeRun()).drift["tray-0"]["storage"]
    assert f"on {PLACE} is mounted " in told
    assert ", and the last run left tmpfs none[/rackstack-checkpoints]" in told
    reason = refusal(inputs)
    assert "tray-0: machines.storage.path says /data, and that is on " in reason
    assert "where tmpfs none was when the checkpoints came: mount that there, or, if this one is" in reason
    said(host, "mount -t tmpfs none /data")
    made = Playbook().update(inputs, inputs, made, FakeRun())
    assert Playbook().read(inputs, made, FakeRun()).drift == {}
    Playbook().delete(inputs, made, FakeRun())
    said(host, "umount /data")


def test_a_disk_that_holds_data_is_never_touched(host: HostRecord, fleet: str) -> None:
    shown = json.dumps({"blockdevices": [DISK]})
    stand_in = (
        f"cat >/usr/local/bin/lsblk <<'E'\n#!/bin/sh\ncat <<'J'\n{shown}\nJ\nE\nchmod +x /usr/local/bin/lsblk"
    )
    assert ssh.run(host, stand_in, deadline=30).code == 0
    reason = refusal(wished(host, fleet, "disk", "S0EXAMPLE0001"))
    assert "tray-0: disk S0EXAMPLE0001 (/dev/nvme0n1) has a gpt partition table (/dev/nvme0n1p1)" in reason
    assert "is in use on /home, and only an empty disk is formatted" in reason
    assert (
        "no disk there has the serial number S0OTHER; it has S0EXAMPLE0001 (/dev/nvme0n1, 1,099.5 GB)"
        in refusal(wished(host, fleet, "disk", "S0OTHER"))
    )


@pytest.fixture
def disk(host: HostRecord, tmp_path: Path) -> Iterator[str]:
    """Lend the machine an empty disk of 512 MiB; return its path there."""
    backing = tmp_path / "disk"
    backing.touch()
    os.truncate(backing, 512 << 20)
    path = output("losetup", "--find", "--show", str(backing))
    try:
        number = Path(path).stat().st_rdev
        said(host, f"mknod {path} b {os.major(number)} {os.minor(number)}")
        said(host, f"mkdir -p /dev/disk/by-uuid; ln -s {path} /dev/disk/by-uuid/{UUID}")
        stand_in = LSBLK.read_text().replace("@PATH@", path).replace("@SERIAL@", SERIAL)
        said(host, f"cat >/usr/local/bin/lsblk <<'E'\n{stand_in}E\nchmod +x /usr/local/bin/lsblk")
        yield path
        said(host, f"rm {path} /dev/disk/by-uuid/{UUID} /usr/local/bin/lsblk")
    finally:
        output("losetup", "--detach", path)


def test_an_empty_disk_is_formatted_once_kept_and_emptied_where_nothing_is_kept(
    host: HostRecord, fleet: str, disk: str
) -> None:
    keeping = wished(host, fleet, "disk", SERIAL)
    made = Playbook().create(keeping, FakeRun())
    assert said(host, f"findmnt --noheadings --output FSTYPE,SOURCE,UUID {PLACE}").split() == [
        "xfs",
        disk,
        UUID,
    ]
    said(host, f"touch {PLACE}/held")
    assert Playbook().read(keeping, made, FakeRun()).drift == {}
    again = FakeRun()
    made = Playbook().update(keeping, keeping, made, again)
    assert again.changes == []
    Playbook().delete(keeping, made, FakeRun())
    assert (
        said(host, "findmnt --source " + disk + " || true; ls /var/lib/rackstack 2>/dev/null || true") == ""
    )

    taking = keeping.model_copy(update={"variables": keeping.variables | {"prepare_keep_checkpoints": False}})
    made = Playbook().create(taking, FakeRun())
    assert said(host, f"ls {PLACE}") == "held"
    Playbook().delete(taking, made, FakeRun())
    assert said(host, f"mount {disk} /mnt; ls /mnt; umount /mnt") == ""


def test_a_disk_with_a_byte_at_its_end_is_not_formatted(host: HostRecord, fleet: str, disk: str) -> None:
    said(host, f"printf x | dd of={disk} bs=1 seek=$(((512 << 20) - 1)) conv=notrunc status=none; sync")
    reason = refusal(wished(host, fleet, "disk", SERIAL))
    assert f"tray-0: disk {SERIAL} ({disk}) has data in its first or last MiB" in reason
    assert said(host, f"blkid -p {disk} || true") == ""


def output(*argv: str) -> str:
    """Return what a command of this machine prints."""
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def wished(host: HostRecord, fleet: str, kind: str, source: str) -> PlaybookInputs:
    """Return the inputs of `prepare` with storage of its own."""
    wanted = {"prepare_packages": ["g++"], "prepare_memory_mib": 128}
    inputs = playbooks.inputs([host], fleet, "prepare", wanted | {"prepare_keep_checkpoints": True})
    own = {host.name: {"storage_kind": kind, "storage_source": source}}
    return inputs.model_copy(update={"host_variables": own})

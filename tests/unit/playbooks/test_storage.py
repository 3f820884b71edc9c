"""Whether a disk may be formatted, from what `lsblk` says of it."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.playbooks.files import program

ROOT = Path(__file__).parents[3]
storage = program("roles/storage/files/storage.py")
CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/storage/disks.yaml").read_text())
SERIAL = "S0EXAMPLE0001"
EMPTY = {
    "name": "nvme1n1",
    "path": "/dev/nvme1n1",
    "type": "disk",
    "serial": SERIAL,
    "size": 3840755982336,
    "ro": False,
    "fstype": None,
    "label": None,
    "uuid": None,
    "pttype": None,
    "mountpoints": [None],
}


def disk(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a disk as `lsblk --json` shows an empty one, but for some facts."""
    ours = {"uuid": storage.identity(SERIAL)} if facts.get("ours") else {}
    return EMPTY | facts | ours


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_done_with_a_disk(case: dict[str, Any]) -> None:
    nodes = [disk(facts) for facts in case["disks"]]
    verdict = storage.judge(
        SERIAL, case.get("needed", 0), nodes, lambda _path, _size: case.get("clear", True)
    )
    assert verdict["refusals"] == case.get("refusals", [])
    assert verdict["make"] == case.get("make", False)


def test_both_ends_of_a_device_are_read(tmp_path: Path) -> None:
    device, size = tmp_path / "disk", 3 * storage.EDGE
    device.write_bytes(bytes(size))
    assert storage.clear(str(device), size)
    for at in (0, storage.EDGE - 1, size - 1):
        held = bytearray(size)
        held[at] = 1
        device.write_bytes(held)
        assert not storage.clear(str(device), size)


def test_a_file_system_of_ours_is_known_again() -> None:
    assert storage.identity(SERIAL) == storage.identity(SERIAL) != storage.identity("S0EXAMPLE0002")


@pytest.mark.parametrize(
    ("mounted", "ours"),
    [
        (["our-uuid"], True),
        (["our-uuid", "their-uuid"], False),
        (["their-uuid", "our-uuid"], True),
        ([], False),
    ],
)
def test_only_what_lies_on_top_is_emptied(tmp_path: Path, mounted: list[str], *, ours: bool) -> None:
    """What is mounted on one place findmnt lists in the order in which it was mounted (util-linux 2.38)."""
    findmnt, unit = tmp_path / "findmnt", tmp_path / "unit"
    findmnt.write_text("\n".join(("#!/bin/sh", *(f"echo {uuid}" for uuid in mounted))))
    findmnt.chmod(0o755)
    unit.write_text("[Mount]\nWhat=/dev/disk/by-uuid/our-uuid\n")
    tasks = yaml.safe_load((ROOT / "playbooks/roles/storage/tasks/unmount.yml").read_text())
    line = tasks[0]["ansible.builtin.command"]["argv"][2].replace("{{ storage_file }}", str(unit))
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", line], env=environment, check=False)
    assert (done.returncode == 0) is ours

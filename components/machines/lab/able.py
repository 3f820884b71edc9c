"""Whether this machine can run the lab. Standard library only: the bootstrap and the tests ask it too."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES: Final = {
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "unshare": "util-linux",
    "setsid": "util-linux",
    "mount": "mount",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}
"""Command that the lab calls on the operator's machine → Debian package that brings it."""

_CAPABILITIES: Final = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}


def missing() -> list[str]:
    """Return what this machine lacks for lab hosts, one sentence each; empty when it can run them."""
    return [*obstacles(), *_commands()]


def obstacles() -> list[str]:
    """Return what stands against lab hosts here that no package would mend, one sentence each."""
    if sys.platform != "linux":
        return [f"lab hosts need Linux, and this is {sys.platform}; use a Linux machine"]
    return [*_rights(), *_kernel()]


def _rights() -> Iterator[str]:
    if os.geteuid() != 0:
        yield f"lab hosts need root, and this user has id {os.geteuid()}; run it with sudo"
        return
    held = _effective_capabilities()
    for name, bit in _CAPABILITIES.items():
        if not held >> bit & 1:
            yield f"lab hosts need {name}, which root lacks here; leave the container or make it privileged"


def _commands() -> Iterator[str]:
    for command, package in PACKAGES.items():
        if shutil.which(command) is None:
            yield f"lab hosts need the command {command}; install the package {package}"


def _kernel() -> Iterator[str]:
    kinds = {fields[fields.index("-") + 1] for fields in _mounts()}
    if not kinds & {"cgroup", "cgroup2"}:
        yield "lab hosts need control groups, and none are mounted; mount cgroup2 at /sys/fs/cgroup"
    if _kind_under(Path("/var/lib/rackstack-lab")) == "overlay":
        yield (
            "/var/lib/rackstack-lab lies on an overlay file system, which cannot carry the hosts' disks; "
            "mount a volume there"
        )


def _effective_capabilities() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))


def _kind_under(folder: Path) -> str:
    """Return the kind of file system that a folder lies on, or would lie on."""
    above = {str(folder), *map(str, folder.parents)}
    holding = [fields for fields in _mounts() if fields[4] in above]
    deepest = max(holding, key=lambda fields: len(fields[4]), default=None)
    return deepest[deepest.index("-") + 1] if deepest else ""


def _mounts() -> list[list[str]]:
    return [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]

"""What the lab needs of the machine itself."""

import os
import platform
import shutil

from stacks.errors import Refusal
from tools.bootstrap.work import call, tell

# Program → Debian package that brings it.
_PROGRAMS = {
    "debootstrap": "debootstrap",
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "nft": "nftables",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}
# A shell without a login has no sbin on its PATH, where debootstrap and nft live.
_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"


def obstacles() -> list[str]:
    """Return why no lab can run on this machine, one sentence each; empty where it can."""
    if platform.system() != "Linux":
        return [f"lab hosts are Linux containers and this machine runs {platform.system()}"]
    found = []
    if os.geteuid():
        found.append("lab hosts need root (namespaces, mounts, cgroups) and this is an ordinary user")
    if missing() and not _can_install():
        found.append(f"{', '.join(missing())} not installed and cannot be installed from here")
    return found


def missing() -> list[str]:
    """Return the Debian packages whose programs are not on this machine, sorted."""
    return sorted(
        {package for program, package in _PROGRAMS.items() if not shutil.which(program, path=_PATH)}
    )


def ensure() -> None:
    """Install what is missing.

    Raises:
        Refusal: The lab cannot run here, or apt-get failed.
    """
    if found := obstacles():
        raise Refusal(
            f"the lab cannot run here: {'; '.join(found)}: use a Linux machine as root;"
            " `make unit`, `make lint` and `make preview` work here"
        )
    if packages := missing():
        tell("packages", f"installing {', '.join(packages)}")
        way_out = f"install {' '.join(packages)} by hand"
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        call(["apt-get", "-q", "update"], way_out, environment=quiet)
        install = ["apt-get", "-q", "-y", "--no-install-recommends", "install"]
        call([*install, *packages], way_out, environment=quiet)


def environment() -> dict[str, str]:
    """Return this process's environment with the folders of system programs on PATH."""
    return os.environ | {"PATH": _PATH}


def _can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None

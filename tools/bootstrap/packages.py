"""What the lab needs of the machine itself."""

import os
import shutil
import sys

from components.machines.lab import able
from stacks.errors import Refusal
from tools.bootstrap.work import call, tell

# What lab hosts need, and what makes their image.
_PROGRAMS = {**able.PACKAGES, "debootstrap": "debootstrap"}
# A shell without a login has no sbin on its PATH, where debootstrap lives.
_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"


def obstacles() -> list[str]:
    """Return why no lab can run on this machine, one sentence each; empty where it can."""
    found = able.obstacles()
    if sys.platform == "linux" and (packages := missing()) and not _can_install():
        found.append(
            f"{', '.join(packages)} not installed, and apt-get as root is not here to do it; install by hand"
        )
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
            f"the lab cannot run here: {'; '.join(found)};"
            " `make unit`, `make lint` and `make preview` work here"
        )
    if packages := missing():
        tell("packages", f"installing {', '.join(packages)}")
        way_out = f"install {' '.join(packages)} by hand"
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        call(["apt-get", "-q", "update"], way_out, seconds=600, environment=quiet)
        install = ["apt-get", "-q", "-y", "--no-install-recommends", "install"]
        call([*install, *packages], way_out, seconds=1800, environment=quiet)


def environment() -> dict[str, str]:
    """Return this process's environment with the folders of system programs on PATH."""
    return os.environ | {"PATH": _PATH}


def _can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None

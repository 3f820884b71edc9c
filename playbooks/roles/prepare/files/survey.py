# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say what this host lacks to run the engine.

Usage: survey.py REQUIREMENTS (JSON: fleet, memory_mib, brought, now, clock_seconds, packages: name → reason)
       survey.py disks BROUGHT (JSON: folder → MiB that will lie there)

The first prints JSON: `machine` and `software` (one sentence per lack; the second kind can be installed) and
`packages`, the names of those that are missing. The second prints what disks lack, as JSON; a machine that is
claimed is asked that alone.
"""

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SYSTEMD = 249
PYTHON = (3, 11)
COMPLETE = (".rackstack-complete", ".verified")  # of an engine, and of a checkpoint
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def main(requirements: str, brought: str = "") -> None:
    """Print the survey, or what disks lack."""
    if brought:
        sys.stdout.write(json.dumps(list(disk_lacks(json.loads(brought)))))
        return
    wanted = json.loads(requirements)
    missing = missing_packages(wanted["packages"])
    survey = {
        "machine": list(machine_lacks(wanted)),
        "software": [*package_lacks(missing, wanted["packages"]), *software_lacks(missing)],
        "packages": missing,
    }
    sys.stdout.write(json.dumps(survey))


def machine_lacks(wanted: Mapping[str, Any]) -> Iterator[str]:
    """Yield what only another machine, or another setting of it, can mend."""
    yield from memory_lacks(wanted["memory_mib"])
    yield from disk_lacks(wanted["brought"])
    yield from other_fleets(wanted["fleet"])
    yield from clock_lacks(wanted["now"], wanted["clock_seconds"])
    for folder in ("/opt", "/var/cache"):
        if os.statvfs(folder).f_flag & os.ST_NOEXEC:
            yield f"{folder} is mounted noexec and the engine runs what it compiles there: mount it with exec"
    if (version := systemd_version()) < SYSTEMD:
        yield f"systemd is {version}, the units need {SYSTEMD} or newer: use a newer distribution"
    if sys.version_info < PYTHON:
        yield f"python3 is {platform.python_version()}, the engine needs 3.11: use Debian 12 or newer"


def memory_lacks(wanted_mib: int) -> Iterator[str]:
    """Yield a lack of memory; a limit of this machine's own control group counts too."""
    if (memory := memory_mib()) < wanted_mib:
        yield (
            f"memory is {memory} MiB, the plan needs {wanted_mib} MiB: give the machine more or plan for less"
        )


def disk_lacks(brought: Mapping[str, int]) -> Iterator[str]:
    """Yield every disk with less space than what is brought there takes."""
    wanted: Counter[int] = Counter()
    places: dict[int, list[str]] = {}
    for folder, mib in brought.items():
        place = next(each for each in (Path(folder), *Path(folder).parents) if each.exists())
        disk = place.stat().st_dev
        places.setdefault(disk, []).append(str(place))
        wanted[disk] += still_to_come(Path(folder), mib)
    for disk, named in places.items():
        if (free := shutil.disk_usage(named[0]).free >> 20) < wanted[disk]:
            yield (
                f"the disk of {' and '.join(dict.fromkeys(named))} has {free} MiB free, the plan needs "
                f"{wanted[disk]} MiB there: free some or use a larger disk"
            )


def still_to_come(folder: Path, mib: int) -> int:
    """Return how much of a folder is not there yet, in MiB; a checkpoint that is fetched lies beside it."""
    if any((folder / marker).exists() for marker in COMPLETE):
        return 0
    places = (folder, folder.with_name(f"{folder.name}.part"))
    blocks = sum(path.lstat().st_blocks for place in places for path in place.rglob("*"))
    return max(mib - (blocks >> 11), 0)


def other_fleets(fleet: str) -> Iterator[str]:
    """Yield every other fleet that holds this host."""
    for marker in sorted(Path("/var/lib/rackstack").glob("*/prepare.json")):
        if (other := marker.parent.name) != fleet:
            yield (
                f"the host belongs to fleet {other} and can serve only one:"
                f" destroy that fleet first, or remove {marker.parent} if it is gone"
            )


def clock_lacks(operator: int, most: int) -> Iterator[str]:
    """Yield a clock that is not the operator's: certificates, logs and deadlines would all lie."""
    own = int(time.time())
    if abs(own - operator) > most:
        way = "ahead of" if own > operator else "behind"
        yield (
            f"its clock says {utc(own)} and the operator's {utc(operator)}, {abs(own - operator)} s {way} it,"
            f" and at most {most} s may lie between them: set it right with `timedatectl set-ntp true`,"
            f" or the operator's if that is the wrong one"
        )


def utc(seconds: int) -> str:
    """Return a time as people read it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def memory_mib() -> int:
    """Return the memory that this machine may use, in MiB."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [Path(path).read_text("ascii").strip() for path in CGROUP_LIMITS if Path(path).exists()]
    return min([total, *(int(limit) for limit in limits if limit.isdigit())]) >> 20


def systemd_version() -> int:
    """Return the number that `systemctl --version` starts with."""
    first = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, check=True).stdout
    return int(first.split()[1])


def missing_packages(packages: Mapping[str, str]) -> list[str]:
    """Return the packages that are not fully installed."""
    if not packages:
        return []
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *packages]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in answer.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in installed]


def package_lacks(missing: list[str], reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence per missing package."""
    for name in missing:
        yield (
            f"package {name} is missing and no package source has it: {reasons[name]};"
            f" install it or add it to the image"
        )


def software_lacks(missing: list[str]) -> Iterator[str]:
    """Yield what is not there although its package may be."""
    headers = Path(sysconfig.get_paths()["include"], "Python.h")
    if "g++" not in missing and not shutil.which("g++"):
        yield "command g++ is missing and the engine compiles kernels with it: reinstall package g++"
    if "python3-dev" not in missing and not headers.exists():
        yield f"{headers} is missing and the kernels include it: reinstall package python3-dev"
    if "libnuma1" not in missing and not loads("libnuma.so.1"):
        yield "libnuma.so.1 does not load and the engine links to it: reinstall package libnuma1"


def loads(library: str) -> bool:
    """Return whether the dynamic linker finds the library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])

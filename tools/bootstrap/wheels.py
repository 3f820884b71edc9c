"""The wheel mirror: every wheel of every engine's lock in the catalog, each checked against its hash."""

import os
import re
import sys
import tempfile
from pathlib import Path

from components.machines.lab import cache
from stacks import catalog
from stacks.catalog import Engine
from tools.bootstrap.work import CHECKOUT, alone, call, placed, tell

_OLDEST = 5  # minor of the first glibc that has a wheel platform
_LEGACY = ("manylinux2014", "manylinux2010", "manylinux1", "linux")
# pip keeps a download only when its whole command ends well: so many wheels are lost by a failure.
_BATCH = 16
_SECONDS = 7200.0  # of one batch; torch alone is most of the 3 GB


def ensure() -> None:
    """Download what is missing of each engine's mirror; a broken download goes on where it stopped.

    Raises:
        CatalogError: The catalog is wrong.
        Refusal: A wheel could not be had, or is not the one that the lock names.
    """
    for engine in catalog.load().engines.values():
        folder = cache.wheels(engine.lock_digest)
        if not folder.is_dir():
            with alone():
                _download(folder, engine)


def requirements(lock: str) -> list[str]:
    """Return the requirements of a lock, each with its lines of hashes."""
    return re.findall(r"(?m)^[\w.-]+==.*(?:\n .*)*", lock)


def target(python: str, platform: str) -> list[str]:
    """Return pip's arguments for wheels of the hosts, not of the operator's machine.

    Args:
        python: The hosts' Python, `3.11`.
        platform: Machine and glibc, `x86_64-manylinux_2_28`; wheels for an older glibc fit too.
    """
    machine, _, newest = platform.partition("-manylinux_2_")
    # pip takes the first that fits, so the newest comes first.
    systems = [*(f"manylinux_2_{minor}" for minor in range(int(newest), _OLDEST - 1, -1)), *_LEGACY]
    abis = [f"cp{python.replace('.', '')}", "abi3", "none"]
    return [
        *("--python-version", python, "--implementation", "cp"),
        *_each("--abi", abis),
        *_each("--platform", [f"{system}_{machine}" for system in systems]),
    ]


def _download(folder: Path, engine: Engine) -> None:
    if folder.is_dir():
        return
    wanted = requirements((CHECKOUT / engine.lock).read_text())
    fitting = target(engine.facts.python, engine.facts.platform)
    tell("wheels", f"downloading the {len(wanted)} wheels of {engine.name}, about 3 GB")
    with placed(folder, resume=True) as part:
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            _download_batch(part, "\n".join(batch), fitting)
            tell("wheels", f"{start + len(batch)} of {len(wanted)}")
    tell("wheels", f"they are in {folder}")


def _download_batch(folder: Path, batch: str, fitting: list[str]) -> None:
    strict = ["--no-deps", "--require-hashes", "--only-binary=:all:"]
    quiet = ["--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory(dir=cache.root()) as scratch:  # /tmp is small on many machines
        listed = Path(scratch) / "requirements.txt"
        listed.write_text(f"{batch}\n")
        call(
            [sys.executable, "-m", "pip", "download", *strict, *quiet, *fitting, "-r", listed, "-d", folder],
            "mend pip's access to its index (PIP_INDEX_URL, proxy), then run again: it goes on from here",
            seconds=_SECONDS,
            environment=os.environ | {"TMPDIR": scratch},
        )


def _each(flag: str, values: list[str]) -> list[str]:
    return [word for value in values for word in (flag, value)]

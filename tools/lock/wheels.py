"""Wheels of a lock for the hosts that it was resolved for, whatever machine this runs on."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from packaging import tags
from packaging.pylock import Package, Pylock, PylockValidationError
from packaging.tags import Tag
from packaging.utils import canonicalize_name, parse_wheel_filename
from uv import find_uv_bin

from stacks.errors import Refusal

SECONDS: Final = 3600.0  # an index without hashes makes uv download the wheels that it lists
_OLDEST: Final = 5  # minor of the first glibc that has a wheel platform
_LEGACY: Final = ("manylinux2014", "manylinux2010", "manylinux1", "linux")


class Target(NamedTuple):
    """What hosts can install.

    Attributes:
        python: Their Python, `3.12`.
        platform: Machine and glibc, `aarch64-manylinux_2_34`; wheels for an older glibc fit too.
    """

    python: str
    platform: str

    @property
    def tags(self) -> Mapping[Tag, int]:
        """Return every tag of wheels that fit → how well it fits, 0 the best."""
        machine, _, newest = self.platform.partition("-manylinux_2_")
        systems = [*(f"manylinux_2_{minor}" for minor in range(int(newest), _OLDEST - 1, -1)), *_LEGACY]
        platforms = [f"{system}_{machine}" for system in systems]
        version = tuple(map(int, self.python.split(".")))
        interpreter = f"cp{self.python.replace('.', '')}"
        fitting = [
            *tags.cpython_tags(version, platforms=platforms),
            *tags.compatible_tags(version, interpreter, platforms),
        ]
        return {tag: place for place, tag in enumerate(fitting)}


class Wheel(NamedTuple):
    """One wheel of a lock: its file name, where it is, its size in bytes (None: not told) and its SHA-256."""

    file: str
    url: str
    size: int | None
    sha256: str


def requirements(lock: str) -> list[str]:
    """Return the requirements of a lock, each with its lines of hashes."""
    return re.findall(r"(?m)^[\w.-]+==.*(?:\n .*)*", lock)


def hashes(requirement: str) -> set[str]:
    """Return the SHA-256 of every file that a requirement of a lock allows."""
    return set(re.findall(r"--hash=sha256:([0-9a-f]{64})", requirement))


def named(requirement: str) -> tuple[str, str]:
    """Return name and release of a requirement of a lock."""
    name, _, rest = requirement.partition("==")
    return name, rest.split()[0].rstrip("\\;")


def wheels(wanted: Sequence[str], target: Target, indexes: Sequence[str]) -> list[Wheel]:
    """Return for each requirement the wheel that fits the hosts best and that its hashes allow.

    Args:
        wanted: Requirements of a lock.
        target: What the hosts can install.
        indexes: Package indexes to ask before uv's own.

    Raises:
        Refusal: An index cannot be asked, or has no such wheel; every package without one is named.
    """
    found = {package.name: package for package in _listed(wanted, target, indexes)}
    allowed = {named(each)[0]: hashes(each) for each in wanted}
    fitting = target.tags
    best = {name: _best(found.get(canonicalize_name(name)), allowed[name], fitting) for name in allowed}
    if lacking := sorted(" ".join(named(each)) for each in wanted if best[named(each)[0]] is None):
        raise Refusal(
            f"{', '.join(lacking)}: the index has no wheel with a hash of the lock for CPython"
            f" {target.python} on {target.platform}; raise the platform in the engine's file"
            " where its hosts have a newer glibc, or resolve the lock anew"
        )
    return [wheel for wheel in best.values() if wheel]


def uv(
    words: Sequence[str],
    target: Target,
    indexes: Sequence[str],
    *,
    given: str | None = None,
    folder: Path | None = None,
) -> str:
    """Run `uv pip compile` for the hosts and return what it prints.

    Args:
        words: More of its arguments.
        target: What the hosts can install.
        indexes: Package indexes to ask before its own.
        given: Its standard input.
        folder: Where it runs; names of files that it writes into the lock are relative to it.

    Raises:
        Refusal: It failed; the sentence is its own.
    """
    # Without an interpreter of ours uv would look for one of the hosts' release in every folder of PATH.
    aim = [
        "--python",
        sys.executable,
        "--python-version",
        target.python,
        "--python-platform",
        target.platform,
    ]
    chosen = [word for index in indexes for word in ("--index", index)]
    command = [find_uv_bin(), "pip", "compile", "--quiet", "--no-header", *aim, *chosen, *words]
    try:
        ended = subprocess.run(
            command,
            input=given,
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=_environment(),
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        raise Refusal(
            f"`uv pip compile` did not end within {SECONDS:g} s: look at the index, then run again"
        ) from None
    if ended.returncode:
        raise Refusal(_said(ended.stderr))
    return ended.stdout


def _environment() -> dict[str, str]:
    """Return this environment, in which pip's index serves uv too: pip has installed what runs here."""
    known = {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & os.environ.keys()
    of_pip = os.environ.get("PIP_INDEX_URL")
    return os.environ | ({"UV_DEFAULT_INDEX": of_pip} if of_pip and not known else {})


def _said(error: str) -> str:
    """Return uv's error and its causes as one sentence."""
    told = " ".join(error.split()).removeprefix("error: ").replace(" cause: ", ": ").replace(" hint: ", " ")
    return (
        f"`uv pip compile` refused: {told.rstrip('.') or 'it did not say why'}; mend the input or the access"
        " to the index (UV_DEFAULT_INDEX, UV_INDEX, proxy), then run again"
    )


def _listed(wanted: Sequence[str], target: Target, indexes: Sequence[str]) -> Iterator[Package]:
    """Yield what the indexes have of each requirement."""
    words = ["--no-deps", "--format", "pylock.toml", "-"]
    text = uv(words, target, indexes, given="\n".join(wanted))
    try:
        yield from Pylock.from_dict(tomllib.loads(text)).packages
    except (tomllib.TOMLDecodeError, PylockValidationError) as error:
        raise Refusal(
            f"`uv pip compile` printed no pylock.toml ({error}): use the uv of requirements-dev.txt"
        ) from error


def _best(package: Package | None, allowed: set[str], fitting: Mapping[Tag, int]) -> Wheel | None:
    ranked: list[tuple[int, Wheel]] = []
    for each in package.wheels or () if package else ():
        tagged = parse_wheel_filename(each.filename)[3]
        places = [fitting[tag] for tag in tagged if tag in fitting]
        digest = each.hashes.get("sha256", "")
        if places and each.url and digest in allowed:
            ranked.append((min(places), Wheel(each.filename, each.url, each.size, digest)))
    return min(ranked)[1] if ranked else None

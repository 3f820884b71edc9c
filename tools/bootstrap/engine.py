"""The Pulumi engine and its Python language host: PATH, official release, Go build, in this order."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import tarfile
import time
import urllib.request
from pathlib import Path

from components.machines.lab import cache
from stacks.errors import Refusal
from tools.bootstrap.work import CHECKOUT, alone, call, placed, tell

VERSION = "3.274.1"
# The Python SDK in requirements.txt: the plugin and the program speak its protobufs,
# and an older engine than its SDK was never tried.
LEAST = (3, 272, 0)
PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec")

_RELEASES = "https://get.pulumi.com/releases/sdk"
_CONNECT = 5.0  # seconds: an unreachable site must not hold up the Go build
_DOWNLOAD = 600.0  # seconds for the whole archive
_COMPILE = 3600.0  # seconds for one program and its modules
_SDK = "github.com/pulumi/pulumi/sdk/v3"
_BUILDS = {
    "engine": ("pulumi", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"),
    "language": ("pulumi-language-python", f"{_SDK}/python/cmd/pulumi-language-python"),
}


def find() -> Path | None:
    """Return the folder of an engine that is new enough: on PATH, or in the cache; None if neither."""
    on_path = shutil.which("pulumi")
    if on_path and all(map(shutil.which, PROGRAMS)) and _version(on_path) >= LEAST:
        return Path(on_path).parent
    return _cached() if _cached().is_dir() else None


def ensure() -> Path:
    """Return the folder of the engine, installing it first where none is new enough.

    Raises:
        Refusal: Neither a release nor a Go build could be had.
    """
    if found := find():
        return found
    with alone():
        if found := find():
            return found
        _install(_cached())
    return _cached()


def _cached() -> Path:
    pins = [CHECKOUT / "tools" / build / name for build in _BUILDS for name in ("go.mod", "go.sum")]
    digest = hashlib.sha256(VERSION.encode() + b"".join(pin.read_bytes() for pin in pins))
    return cache.engine(digest.hexdigest())


def _version(pulumi: str | Path) -> tuple[int, ...]:
    """Return what `pulumi version` says; () where it says nothing of use."""
    quiet = os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "1"}
    try:
        said = subprocess.run(
            [pulumi, "version"], check=False, env=quiet, capture_output=True, text=True, timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.match(r"v(\d+)\.(\d+)\.(\d+)", said.strip())
    return tuple(map(int, found.groups())) if found else ()


def _install(folder: Path) -> None:
    try:
        with placed(folder) as part:
            tell("engine", f"fetching the official Pulumi {VERSION}")
            _fetch_release(part)
            _prove(part)
    except (OSError, Refusal, KeyError, tarfile.TarError) as error:
        with placed(folder) as part:
            _build(part, why=f"{error}")
            _prove(part)
    tell("engine", f"Pulumi {VERSION} is in {folder}")


def _prove(folder: Path) -> None:
    if _version(folder / "pulumi") != tuple(map(int, VERSION.split("."))):
        raise Refusal(f"engine: the new {folder / 'pulumi'} does not say that it is {VERSION}: run again")


def _fetch_release(folder: Path) -> None:
    """Download, check against the published checksum, and unpack.

    Raises:
        OSError: The site cannot be reached.
        Refusal: The archive is not what the site's checksum file says.
        KeyError: No release for this machine, or a program is missing in the archive.
    """
    system = {"Linux": "linux", "Darwin": "darwin"}[platform.system()]
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    name = f"pulumi-v{VERSION}-{system}-{machine}.tar.gz"
    sums = folder / "checksums.txt"
    _download(f"{_RELEASES}/pulumi-{VERSION}-checksums.txt", sums)
    expected = {line.split()[-1]: line.split()[0] for line in sums.read_text().splitlines() if line.strip()}
    archive = folder / name
    _download(f"{_RELEASES}/{name}", archive)
    with archive.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != expected[name]:
            raise Refusal(f"{name} does not match its published checksum")
    with tarfile.open(archive) as tar:
        for program in PROGRAMS:
            member = tar.getmember(f"pulumi/{program}")
            member.name = program
            tar.extract(member, folder, filter="data")
    archive.unlink()
    sums.unlink()


def _download(url: str, target: Path) -> None:
    end = time.monotonic() + _DOWNLOAD
    with urllib.request.urlopen(url, timeout=_CONNECT) as source, target.open("wb") as file:  # noqa: S310 - https only, see _RELEASES
        while chunk := source.read(1 << 20):
            file.write(chunk)
            if time.monotonic() > end:
                raise TimeoutError(f"{url} took more than {_DOWNLOAD:.0f} s")


def _build(folder: Path, why: str) -> None:
    """Compile both programs from the Go module proxy, one after the other: two at once need twice the memory.

    Raises:
        Refusal: There is no Go, or a compilation failed.
    """
    way_out = (
        f"put pulumi {'.'.join(map(str, LEAST))} or newer on PATH, or a Go that tools/engine/go.mod accepts"
    )
    if not shutil.which("go"):
        raise Refusal(
            f"engine: the official Pulumi {VERSION} cannot be had ({why}) and there is no Go: {way_out}"
        )
    tell("engine", f"no official release here ({why}); compiling Pulumi {VERSION}, about 5 minutes")
    flags = f"-s -w -X {_SDK}/go/common/version.Version=v{VERSION}"
    for build, (program, package) in _BUILDS.items():
        command: list[str | Path] = ["go", "build", "-ldflags", flags, "-o", folder / program, package]
        call(command, way_out, seconds=_COMPILE, folder=CHECKOUT / "tools" / build)
    ask = ["go", "list", "-m", "-f", "{{.Dir}}", _SDK]
    sdk = call(ask, way_out, seconds=60, folder=CHECKOUT / "tools/engine")
    launcher = folder / PROGRAMS[2]
    shutil.copyfile(Path(sdk.strip()) / "python/cmd" / launcher.name, launcher)
    launcher.chmod(0o755)

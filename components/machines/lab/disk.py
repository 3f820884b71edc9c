"""The disk of a lab host: an overlay on the shared image, so that a host costs only what it changes."""

from __future__ import annotations

import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from components.machines.lab import keys, root
from components.machines.lab.commands import call
from stacks.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

SEPARATORS: Final = ",:\\"
"""Characters with a meaning of their own in mount options; no path of a disk may hold one."""
HOST_KEY: Final = "etc/ssh/ssh_host_ed25519_key"

_SSHD: Final = """\
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
X11Forwarding no
UseDNS no
MaxStartups 64:30:128
MaxSessions 64
"""
_UNWANTED_UNITS: Final = ("apt-daily.timer", "apt-daily-upgrade.timer")  # they would hold the package lock


def lay(folder: Path, image: Path) -> None:
    """Make the empty writable layer of a disk in a machine's folder."""
    for name in ("upper", "work", "root"):
        (folder / name).mkdir()
    shutil.copystat(image, folder / "upper")


def options(folder: Path, image: Path) -> str:
    """Return the mount options that put the disk together."""
    return f"lowerdir={image},upperdir={folder / 'upper'},workdir={folder / 'work'}"


def personalise(folder: Path, image: Path, name: str, address: str, fleet: str) -> str:
    """Give a new disk its name, its keys and its one visitor; return its public host key."""
    files = {
        "etc/hostname": f"{name}\n",
        "etc/hosts": f"127.0.0.1 localhost\n{address} {name}\n",
        "etc/machine-id": f"{uuid.uuid4().hex}\n",
        "etc/resolv.conf": "# no name server: nothing leaves this machine\n",
        "etc/ssh/sshd_config.d/10-rackstack.conf": _SSHD,
        "root/.ssh/authorized_keys": f"{keys.public_key(root.client_key(fleet))} {fleet}\n",
    }
    add(folder, image, files, {f"etc/systemd/system/{unit}": "/dev/null" for unit in _UNWANTED_UNITS})
    host_key = folder / "upper" / HOST_KEY
    keys.make_pair(host_key, name)
    return keys.public_key(host_key)


def add(folder: Path, image: Path, files: Mapping[str, str], links: Mapping[str, str]) -> None:
    """Add files (path → text) and symbolic links (path → target) to a disk that is not mounted."""
    for path, text in files.items():
        file = _place(folder, image, path)
        file.write_text(text)
        file.chmod(0o644)
    for path, target in links.items():
        _place(folder, image, path).symlink_to(target)


def wipe(folder: Path) -> None:
    """Empty a machine's folder, its marker last, so that a wipe that was cut short can be told.

    Raises:
        Refusal: Something is mounted in it that does not go.
    """
    for point in reversed(mounts_below(folder)):
        call("umount", point)
    with suppress(FileNotFoundError):
        for each in sorted(folder.iterdir(), key=lambda each: each.name == root.MARKER):
            _remove(each)


def mounts_below(folder: Path) -> list[str]:
    """Return what this process sees mounted in a folder or below it, outermost first."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if Path(point).is_relative_to(folder)]


def _place(folder: Path, image: Path, path: str) -> Path:
    """Make the folders above a path in the writable layer; they hide the image's, so they look the same."""
    for above in reversed(Path(path).parents[:-1]):
        mine, theirs = folder / "upper" / above, image / above
        if not mine.exists():
            mine.mkdir(mode=0o700)
            if theirs.is_dir():
                shutil.copystat(theirs, mine)
    return folder / "upper" / path


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise Refusal(f"{path} does not go: {error.strerror}; see who uses it and run again") from None

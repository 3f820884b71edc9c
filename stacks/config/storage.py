"""Where checkpoints lie: one place, that can hold them."""

import posixpath
import re
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from stacks.config.addresses import unfit
from stacks.config.quantities import Speed
from stacks.places import Location, written
from stacks.values import Value

_PLACES: Final = ("path", "disk", "nfs")
_EMPTIED: Final = (
    "/proc",
    "/dev",
    "/sys",
    "/run",
    "/var/run",
    "/var/lock",
    "/tmp",  # noqa: S108 - none is written to
)
OURS: Final = "/var/lib/rackstack"
"""Where checkpoints are mounted; it goes too, where none is kept."""
REMOVED: Final = ("/opt/rackstack", "/var/cache/rackstack", "/etc/rackstack")
"""What `destroy` takes from a host as a whole, as tests/contract/test_removed.py holds it to the roles."""
_PATH: Final = re.compile(r"/[A-Za-z0-9._/-]*")
_SERIAL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ._:-]{0,98}[A-Za-z0-9._:-])?")


def _path(text: str) -> str:
    if why := _odd(text):
        raise ValueError(why)
    if text == "/":
        raise ValueError("is the disk of the system, which is taken without a word; leave it out")
    if _is_below(text, *_EMPTIED):
        raise ValueError(
            f"lies in what is empty after a boot ({', '.join(_EMPTIED)}); write a folder on a disk"
        )
    if _is_below(text, OURS):
        raise ValueError(f"lies in {OURS}, where it is to be mounted itself; write a folder elsewhere")
    if _is_below(text, *REMOVED):
        raise ValueError(
            f"lies in what `destroy` removes whole ({', '.join(REMOVED)}); write a folder elsewhere"
        )
    return text


def _is_below(path: str, *folders: str) -> bool:
    return any(f"{path}/".startswith(f"{folder}/") for folder in folders)


def _odd(path: str) -> str | None:
    """Return what is wrong with the form of a path, and the way out."""
    if not path.startswith("/"):
        return "is no absolute path; write it from / on"
    if not _PATH.fullmatch(path):
        return "has a character besides letters, digits and . _ - /; write another path"
    if ".." in path.split("/"):
        return "turns back by .. on its way; write where it ends"
    straight = posixpath.normpath(path).replace("//", "/")
    return None if path == straight else f"has // or . in its path, or / at its end; write {straight}"


def _serial(text: str) -> str:
    if text.startswith("/dev/"):
        raise ValueError(
            "is the name of a device, which is another disk after some boot; write the serial number that "
            "`lsblk -d -o NAME,SERIAL` shows beside it"
        )
    if not _SERIAL.fullmatch(text):
        raise ValueError(
            "has a character besides letters, digits, inner blanks and . _ : -, no letter or digit first, or "
            "more than 100 of them; write the serial number as `lsblk -d -o NAME,SERIAL` shows it, without "
            "blanks around it"
        )
    return text


def _nfs(text: str) -> str:
    server, colon, _ = text.partition(":/")
    export = text.removeprefix(f"{server}:")
    if not colon or export.startswith("//"):
        raise ValueError("is not of the form SERVER:/EXPORT; write it so, a URL is none")
    if why := unfit(server):
        raise ValueError(f"has the server {server}, which {why}; write SERVER:/EXPORT")
    if why := _odd(export):
        raise ValueError(f"has an export that {why}")
    return text


Serial = Annotated[str, AfterValidator(_serial), Field(json_schema_extra={"pattern": f"^{_SERIAL.pattern}$"})]
Folder = Annotated[str, AfterValidator(_path), Field(json_schema_extra={"pattern": f"^{_PATH.pattern}$"})]
Export = Annotated[
    str, AfterValidator(_nfs), Field(json_schema_extra={"pattern": f"^[A-Za-z0-9._-]+:{_PATH.pattern}$"})
]


class Storage(Value):
    """Where the checkpoints lie, and how fast the hosts read them; at most one place."""

    read: Speed | None = Field(
        default=None, description="sequential read speed of one host", examples=["8 GB/s"]
    )
    path: Folder | None = Field(
        default=None,
        description="folder that every machine has already, absolute",
        examples=["/mnt/nvme"],
    )
    disk: Serial | None = Field(
        default=None,
        description="serial number of one empty disk, as `lsblk -d -o NAME,SERIAL` shows it",
        examples=["S0EXAMPLE0001"],
    )
    nfs: Export | None = Field(
        default=None,
        description="NFS server and export, SERVER:/EXPORT",
        examples=["10.20.0.5:/export/models"],
    )


def two_places(fleet: object) -> Iterator[tuple[Location, str]]:
    """Yield where and what for every place of checkpoints that another one excludes."""
    given = [key for key in _PLACES if written(fleet, ("machines", "storage", key))]
    hosts = written(fleet, ("machines", "hosts"))
    for key in given[1:]:
        yield (
            ("machines", "storage", key),
            f"stands beside machines.storage.{given[0]}, and checkpoints lie in one place: drop one of them",
        )
    other = next((key for key in given if key != "disk"), None)
    for index, host in enumerate(hosts if other and isinstance(hosts, list) else ()):
        if written(host, ("disk",)):
            yield (
                ("machines", "hosts", index, "disk"),
                f"stands beside machines.storage.{other}, and checkpoints lie in one place: drop one of them",
            )

"""`rack:lab:Origin`: the host that stands for a site's mirror of wheels and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from components.machines.lab import disk, names
from components.machines.lab.booted import LIMITS, SSH, Booted, MachineInputs, MachineOutputs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from components.hosts.record import HostRecord

_NGINX: Final = """\
# The folders are the operator's, seen read-only; the workers read them whatever their modes are there.
user root;
worker_processes 2;
pid /run/nginx.pid;
error_log /var/log/nginx/error.log;
events {}
http {
    default_type application/octet-stream;
    access_log /var/log/nginx/access.log;
    sendfile on;
    server {
        listen 80;
        root /srv;
        location / { return 404; }
        location /wheels/ { autoindex on; }
        location /checkpoints/ { }
    }
}
"""
_ENABLED: Final = {
    "etc/systemd/system/multi-user.target.wants/nginx.service": "/lib/systemd/system/nginx.service"
}


class OriginInputs(MachineInputs):
    """The origin.

    Attributes:
        wheels: Folder that it serves under /wheels/, with a listing.
        checkpoints: Folder that it serves under /checkpoints/, byte ranges included.
    """

    wheels: str
    checkpoints: str


class OriginOutputs(MachineOutputs):
    """The origin's base URL."""

    url: str


class Origin(Booted[OriginInputs, OriginOutputs]):
    """A host with nginx in front of two folders of the operator."""

    token = "rack:lab:Origin"  # noqa: S105 -- a type token
    inputs = OriginInputs
    outputs = OriginOutputs
    replace_on = frozenset(OriginInputs.model_fields) - LIMITS
    stable = frozenset({"record", "url"})
    ports = (SSH, 80)

    def foresee(self, inputs: OriginInputs) -> dict[str, Any]:
        """Return the URL, which follows from the subnet."""
        return {"url": _url(inputs)}

    def folders(self, inputs: OriginInputs) -> Mapping[str, str]:
        """Return the two folders that it serves."""
        return {"/srv/wheels": inputs.wheels, "/srv/checkpoints": inputs.checkpoints}

    def dress(self, folder: Path, image: Path) -> None:
        """Configure nginx and have it started with the machine."""
        disk.add(folder, image, {"etc/nginx/nginx.conf": _NGINX}, _ENABLED)

    def made(self, inputs: OriginInputs, incarnation: str, record: HostRecord) -> OriginOutputs:
        """Return the outputs of the origin."""
        return OriginOutputs(incarnation=incarnation, record=record, url=_url(inputs))


def _url(inputs: OriginInputs) -> str:
    return f"http://{names.address(inputs.subnet, inputs.index)}"

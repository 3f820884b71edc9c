"""Packages of documented names: what each holds, made into a package source that apt reads."""

from __future__ import annotations

import hashlib
import resource
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.lab.emulated import seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOOLS = Path(__file__).parent / "tools"

RELEASE: Final = "580.126.20"
"""Driver and IMEX of DGX GB300 release 1.0.6 (NVIDIA's release notes, package contents)."""
OLDER: Final = "580.95.05"
"""A driver whose own words are quoted in `tools/modprobe`."""
NEWER: Final = "580.178.04"
"""What Ubuntu has under the same package names (packages.ubuntu.com, nvidia-dkms-580-open)."""
REVISION: Final = "0ubuntu1"

_PERSISTENCED: Final = """\
[Unit]
Description=NVIDIA Persistence Daemon

[Service]
Type=forking
ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose
ExecStopPost=/bin/rm -rf /run/nvidia-persistenced
"""
_FORKING: Final = """\
[Unit]
Description={title}
After=network.target

[Service]
Type=forking
ExecStart={start}
Restart=no

[Install]
WantedBy=multi-user.target
"""
_SIMPLE: Final = _FORKING.replace("Type=forking", "Type=simple")
_KERNEL: Final = """\
[Unit]
Description=What a lab host's kernel lacks
DefaultDependencies=no
Before=sysinit.target systemd-sysctl.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/emulated-kernel

[Install]
WantedBy=sysinit.target
"""


@dataclass(frozen=True)
class Package:
    """One package.

    Attributes:
        name: Its name.
        version: Its whole version.
        files: Path on the host → content; what lies in a `bin` folder may be run.
        depends: As in its control file.
        after: What is run when it has been unpacked, as a shell script.
    """

    name: str
    version: str
    files: Mapping[str, str] = field(default_factory=dict)
    depends: str = ""
    after: str = ""


def of_release(release: str) -> list[Package]:
    """Return driver, Fabric Manager and IMEX of one release."""
    version = f"{release}-{REVISION}"
    module = {"/usr/lib/emulated/modules/nvidia": f"{release}\n", "/usr/lib/emulated/modules/nvidia_uvm": ""}
    return [
        Package(
            "nvidia-driver-580-open",
            version,
            module,
            f"nvidia-compute-utils-580 (= {version})",
        ),
        Package(
            "nvidia-compute-utils-580",
            version,
            {
                "/usr/bin/nvidia-smi": _tool("nvidia-smi", release),
                "/usr/bin/nvidia-persistenced": _tool("nvidia-persistenced", release),
                "/lib/systemd/system/nvidia-persistenced.service": _PERSISTENCED,
            },
        ),
        Package("libnvidia-nscq", version),
        Package("libnvsdm", version),
        Package(
            "nvidia-fabricmanager",
            version,
            {
                "/usr/bin/nv-fabricmanager": _tool("nv-fabricmanager", release),
                "/lib/systemd/system/nvidia-fabricmanager.service": _FORKING.format(
                    title="NVIDIA fabric manager service", start="/usr/bin/nv-fabricmanager"
                ),
            },
        ),
        Package(
            "nvidia-imex",
            version,
            {
                "/usr/bin/nvidia-imex": _tool("nvidia-imex", release),
                "/usr/bin/nvidia-imex-ctl": _tool("nvidia-imex-ctl", release),
                "/etc/nvidia-imex/config.cfg": "SERVER_PORT=50000\n",
                "/lib/systemd/system/nvidia-imex.service": _FORKING.format(
                    title="NVIDIA IMEX service", start="/usr/bin/nvidia-imex -c /etc/nvidia-imex/config.cfg"
                ),
            },
        ),
    ]


def of_no_release() -> list[Package]:
    """Return what has releases of its own; the numbers are made up, no document that we know has them."""
    return [
        Package("nvlsm", "0.0.1-1"),
        Package(
            "datacenter-gpu-manager-4-cuda13",
            "1:0.0.1-1",
            {
                "/usr/bin/nv-hostengine": _tool("nv-hostengine", ""),
                "/usr/bin/dcgmi": _tool("dcgmi", ""),
                "/lib/systemd/system/nvidia-dcgm.service": _SIMPLE.format(
                    title="NVIDIA DCGM service", start="/usr/bin/nv-hostengine"
                ),
            },
        ),
        Package("infiniband-diags", "0.0.1-1", {"/usr/sbin/ibstat": _tool("ibstat", "")}),
        Package("rdma-core", "0.0.1-1"),
    ]


def machine(gpus: int, accelerator: str = "gb300") -> Package:
    """Return the machine itself: its bus, what its kernel and boot loader are, and what its tools will say.

    Args:
        gpus: How many it has.
        accelerator: Which: gb300 makes it a tray, b200 and b300 a node with a NIC for each.
    """
    modules = ("mlx5_core", "mlx5_ib", "ib_umad", "ib_uverbs", "rdma_ucm")
    tools = ("emulated-kernel", "modprobe", "update-grub")
    return Package(
        "emulated-kernel",
        "1",
        {
            **{f"/usr/sbin/{name}": _tool(name, "") for name in tools},
            "/usr/local/bin/journalctl": _tool("journalctl", ""),
            **({} if grants() else {"/usr/local/bin/sh": _tool("sh", "")}),
            "/lib/systemd/system/emulated-kernel.service": _KERNEL,
            **{f"/usr/lib/emulated/modules/{name}": "" for name in modules},
            **{f"/etc/emulated/{path}": content for path, content in seen.machine(gpus, accelerator).items()},
        },
        after="systemctl daemon-reload; systemctl enable emulated-kernel.service; emulated-kernel",
    )


def grants() -> bool:
    """Return whether this machine may let its lab hosts lock memory; a sandbox may not."""
    return resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] == resource.RLIM_INFINITY


def source(packages: Iterable[Package]) -> dict[str, bytes]:
    """Return the files of a flat package source: name → content."""
    built = {f"{each.name}_{each.version.replace(':', '_')}.deb": (each, deb(each)) for each in packages}
    stanzas = [_stanza(name, package, content) for name, (package, content) in built.items()]
    return {name: content for name, (_, content) in built.items()} | {"Packages": "\n".join(stanzas).encode()}


def deb(package: Package) -> bytes:
    """Return a package as the file that dpkg reads."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        for path, content in package.files.items():
            _put(root / path.lstrip("/"), content, executable="/bin/" in path or "/sbin/" in path)
        _put(root / "DEBIAN/control", _control(package), executable=False)
        _put(root / "DEBIAN/postinst", f"#!/bin/sh\nset -e\n{package.after or _RELOAD}\n", executable=True)
        made = Path(folder) / "made.deb"
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Znone", "--build", root, made],
            check=True,
            capture_output=True,
        )
        return made.read_bytes()


_RELOAD: Final = "systemctl daemon-reload || true"


def _put(path: Path, content: str, *, executable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    path.chmod(0o755 if executable else 0o644)


def _control(package: Package) -> str:
    depends = f"Depends: {package.depends}\n" if package.depends else ""
    return (
        f"Package: {package.name}\nVersion: {package.version}\nArchitecture: all\nMaintainer: tests\n"
        f"{depends}Description: stand-in for tests\n"
    )


def _stanza(name: str, package: Package, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"{_control(package)}Filename: ./{name}\nSize: {len(content)}\nSHA256: {digest}\n"


def _tool(name: str, release: str) -> str:
    return (TOOLS / name).read_text(encoding="utf-8").replace("@RELEASE@", release)

"""Root filesystems that lab hosts are laid over, one per file in stacks/catalog/images."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from components.machines.lab import cache
from stacks import catalog
from stacks.errors import Refusal
from tools.bootstrap import packages
from tools.bootstrap.work import alone, call, placed, tell

# What the packages enable by themselves and no lab host wants before a role asks for it.
_QUIET_UNITS = ("nginx.service", "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer")
# Caches, and what must be each host's own.
_REMOVED = (
    "var/cache/apt/*",
    "var/cache/debconf/*-old",
    "var/lib/apt/lists/*",
    "var/lib/dbus/machine-id",
    "var/log/*.log",
    "etc/ssh/ssh_host_*",
    "etc/hostname",
    "etc/resolv.conf",
)


def ensure() -> None:
    """Make every image that is not in the cache.

    Raises:
        CatalogError: The catalog is wrong.
        Refusal: The lab cannot run here, or debootstrap failed.
    """
    for name, image in catalog.load().images.items():
        folder = cache.image(name, image.suite, image.packages)
        if not folder.is_dir():
            packages.ensure()
            with alone():
                _make(folder, image.suite, image.packages)


def _make(folder: Path, suite: str, contents: Sequence[str]) -> None:
    if folder.is_dir():
        return
    tell("image", f"making {folder.name} with debootstrap, about 70 seconds")
    way_out = "look at its debootstrap/debootstrap.log, mend the machine's Debian mirror, then run again"
    with placed(folder) as part:
        chosen = ["--variant=minbase", f"--include={','.join(contents)}", suite]
        call(
            ["debootstrap", *chosen, part, *_mirror(suite)],
            way_out,
            seconds=3600,
            environment=packages.environment(),
        )
        for unit in _QUIET_UNITS:
            call(["chroot", part, "systemctl", "disable", unit], "run again", seconds=60)
        _tidy(part)
    tell("image", f"{folder.name} is in {folder.parent}")


def _mirror(suite: str) -> list[str]:
    """Return the mirror of `suite` that this machine's apt uses; [] leaves the choice to debootstrap."""
    try:
        form = ["--format", "$(RELEASE) $(REPO_URI)", "Identifier: Packages"]
        targets = call(["apt-get", "indextargets", *form], "debootstrap chooses", seconds=60)
    except Refusal:
        return []
    known = dict(reversed([line.split() for line in targets.splitlines()]))
    return [known[suite]] if suite in known else []


def _tidy(folder: Path) -> None:
    for pattern in _REMOVED:
        for path in folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "etc/machine-id").write_text("")  # empty: the host's first boot fills it

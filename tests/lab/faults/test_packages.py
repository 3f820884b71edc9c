"""A package manager is at work on a host already: it is waited for, named, and never disturbed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from components.hosts.playbook import Playbook
from tests.factories.run import FakeRun
from tests.lab.faults.rows import row
from tests.lab.faults.site import Moment, on, refusal, settle, spoilt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.lab.faults.site import Site

pytestmark = pytest.mark.lab

LOCK = "/var/lib/dpkg/lock-frontend"
HELD = "/run/holder"
HOLD = f"""import fcntl, signal; f = open("{LOCK}", "w"); fcntl.lockf(f, fcntl.LOCK_EX)
open("{HELD}", "w"); signal.pause()"""
HOLDER = "systemd-run --quiet --collect --unit=holder python3 -c"
REPOSITORY = """set -e
mkdir -p /srv/repository/small/DEBIAN && cd /srv/repository
printf 'Package: small\\nVersion: 1\\nArchitecture: all\\nMaintainer: x\\nDescription: x\\n' \\
  >small/DEBIAN/control
dpkg-deb --build small small.deb >/dev/null
{ cat small/DEBIAN/control; echo Filename: ./small.deb; echo Size: $(stat -c %s small.deb)
  echo SHA256: $(sha256sum small.deb | cut -d' ' -f1); } >Packages
mv /etc/apt/sources.list /etc/apt/sources.list.kept 2>/dev/null || true
echo 'deb [trusted=yes] file:/srv/repository ./' >/etc/apt/sources.list"""
GONE = """dpkg --purge small >/dev/null 2>&1; rm -rf /srv/repository /etc/apt/sources.list
mv /etc/apt/sources.list.kept /etc/apt/sources.list 2>/dev/null
rm -f /run/holder; systemctl stop holder 2>/dev/null || true"""


@pytest.fixture
def held(site: Site) -> Iterator[str]:
    """Have a source with one small package on the bad host, and a process that holds dpkg's lock."""
    with spoilt(site.bad, REPOSITORY, GONE):
        on(site.bad, f"{HOLDER} '{HOLD}'; until [ -e {HELD} ]; do :; done")
        yield on(site.bad, "systemctl show holder --property=MainPID --value")


def test_a_package_manager_that_ends_in_time(site: Site, held: str) -> None:
    wanted = site.prepare(site.bad, prepare_packages=["g++", "small"])
    run = Moment(when="waiting: ", then=lambda: on(site.bad, "systemctl stop holder"))
    settle(wanted, run)
    assert on(site.bad, f"dpkg-query --show --showformat '${{Version}}' small; ls {LOCK}") == f"1{LOCK}"
    row("dpkg-waits").holds("\n".join(run.said), host=site.bad.name, process=held)


def test_a_package_manager_that_does_not_end(site: Site, held: str) -> None:
    wanted = site.prepare(prepare_packages=["g++", "small"], prepare_lock_seconds=3)
    said = refusal(wanted.model_copy(update={"hosts": [site.bad]}))
    row("dpkg-held").holds(said, host=site.bad.name, process=held)
    assert on(site.bad, f"systemctl is-active holder; ls {LOCK}").split() == ["active", LOCK]
    on(site.bad, "systemctl stop holder")
    alone = site.prepare(site.bad, prepare_packages=["g++", "small"])
    assert Playbook().create(alone, FakeRun()).run


@pytest.mark.long
def test_a_package_that_no_source_has(site: Site) -> None:
    said = refusal(site.prepare(prepare_packages=["g++", "no-such-package"]))
    row("no-package").holds(said)
    settle(site.prepare())

"""Hosts that are set up in another way than a fresh machine: most work the same, the rest is told why not."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from components.hosts import ssh
from tests.factories.run import FakeRun
from tests.lab.faults.rows import row
from tests.lab.faults.site import on, refusal, settle, spoilt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from components.hosts.record import HostRecord
    from tests.lab.faults.origin import Mirror
    from tests.lab.faults.site import Site

pytestmark = pytest.mark.lab

ALL = "ops ALL=(ALL) NOPASSWD: ALL"
WITH_PASSWORD = "ops ALL=(ALL) ALL"  # noqa: S105 -- a line of sudoers
SUDOERS = "/etc/sudoers.d/ops"


@contextmanager
def _ops(site: Site, *, sudoers: str) -> Iterator[HostRecord]:
    """Have a login user on the bad host, which is then the only way in that is used."""
    add = "useradd --create-home ops && cp -r /root/.ssh /home/ops && chown -R ops /home/ops/.ssh"
    write = f"echo '{sudoers}' >{SUDOERS}" if sudoers else "true"
    gone = f"rm -f {SUDOERS}; pkill -KILL -u ops; until userdel --remove ops 2>/dev/null; do :; done"
    with spoilt(site.bad, f"{add} && {write}", gone):
        yield site.bad.model_copy(update={"user": "ops"})
        ssh.close_all()


@pytest.mark.long
def test_a_host_without_dns(site: Site, mirror: Mirror) -> None:
    keep = "cp --remove-destination /etc/resolv.conf /run/resolv.kept 2>/dev/null"
    dead = f"{keep}; rm -f /etc/resolv.conf; echo nameserver 192.0.2.1 >/etc/resolv.conf"
    back = "rm /etc/resolv.conf; mv /run/resolv.kept /etc/resolv.conf 2>/dev/null || true"
    run = FakeRun()
    with spoilt(site.bad, dead, back):
        settle(site.prepare(), run)
        settle(site.checkpoint(mirror, "nameless", {"config.json": b"{}"}), run)
    row("no-dns").holds("\n".join(run.said), host=site.bad.name)


def test_a_host_whose_tmp_is_tiny_and_noexec(site: Site, mirror: Mirror) -> None:
    run = FakeRun()
    tiny = "; ".join(f"mount -t tmpfs -o noexec,size=2m tiny {folder}" for folder in ("/tmp", "/var/tmp"))
    with spoilt(site.bad, tiny, "umount /tmp /var/tmp"):
        settle(site.prepare(), run)
        settle(site.engine(mirror, "tiny"), run)
    row("tiny-tmp").holds("\n".join(run.said), host=site.bad.name)


@pytest.mark.long
def test_a_login_user_with_sudo_and_no_login_for_root(site: Site, mirror: Mirror) -> None:
    """Root's own login is refused by sshd, so all that follows goes through the user."""
    off = "/etc/ssh/sshd_config.d/05-no-root.conf"  # the first word counts
    with _ops(site, sudoers=ALL) as ops:
        on(ops, f"echo PermitRootLogin no >{off}; systemctl restart ssh")
        try:
            ssh.close_all()
            assert "refuses the key" in refusal(site.prepare())
            run = FakeRun()
            settle(site.prepare(site.hosts[0], ops), run)
            inputs = site.checkpoint(mirror, "ops", {"config.json": b"{}"})
            settle(inputs.model_copy(update={"hosts": [site.hosts[0], ops]}), run)
            row("sudo-only").holds("\n".join(run.said), host=site.bad.name)
        finally:
            on(ops, f"rm {off}; systemctl restart ssh")
            ssh.close_all()


def test_no_sudo(site: Site) -> None:
    hidden = "/usr/bin/sudo.hidden"
    with (
        _ops(site, sudoers="") as ops,
        spoilt(site.bad, f"mv /usr/bin/sudo {hidden}", f"mv {hidden} /usr/bin/sudo"),
    ):
        row("no-sudo").holds(refusal(site.prepare(site.hosts[0], ops)), host=site.bad.name)


def test_a_sudo_that_wants_a_password(site: Site) -> None:
    with _ops(site, sudoers=WITH_PASSWORD) as ops:
        row("sudo-password").holds(refusal(site.prepare(site.hosts[0], ops)), host=site.bad.name)

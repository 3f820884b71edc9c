"""Print what this host shows of a fleet: a program for the host, standard library only.

Its answer is JSON, name → text, packed and in base64, and below one MiB, which is what a command over SSH may
print. Long texts lose their middle: the first failure stands near the beginning, what came of it at the end.
"""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BEGAN = time.monotonic()
PATIENCE = 15.0  # seconds for everything; whoever asks waits for three more
LATE = "late"
MOST_PRINTED = 900_000
CAPS = (2_000_000, 500_000, 120_000, 30_000)  # characters of one text; the first with which all of it fits
MOST_OF_A_JOURNAL = 4_000_000  # characters from its beginning
LINES = 20_000  # from its end
COMMANDS = {
    "system.txt": "uname -a; cat /etc/os-release; uptime; date -u; timedatectl 2>/dev/null",
    "packages.txt": "dpkg-query --show",
    "gpus.txt": "for tool in nvidia-smi amd-smi; do command -v $tool >/dev/null && timeout 3 $tool; done",
    "memory.txt": "free -m; df -h -x overlay -x tmpfs; df -h / /dev/shm /tmp; df -i /",
    "units.txt": "systemctl list-units --all --no-pager 'rackstack-*'; systemctl --failed --no-pager",
    "status.txt": "systemctl status --no-pager --full --lines=0 'rackstack-*'",
    "firewall.txt": "nft list table inet rackstack",
    "ports.txt": "ss --listening --numeric --tcp --processes",
    "addresses.txt": "ip -brief address; ip route",
    "processes.txt": "ps -eo pid,ppid,user,stat,lstart,rss,comm",
    "kernel.txt": "journalctl --dmesg --no-pager --lines=500",
}
# Never rank.env, keys.conf, tls.key: what holds secrets by design stays on the host.
FILES = (
    "/var/lib/rackstack/*/*.json",
    "/run/lock/rackstack/*/*.json",
    "/run/rackstack-*.log",
    "/etc/rackstack/firewall.nft",
    "/etc/rackstack/gateway/nginx.conf",
    "/etc/systemd/system/rackstack-*",
    "/var/log/rackstack*/*.log",
)


def main() -> None:
    """Look at everything and print the answer."""
    texts = {f"files{path}": text for pattern in FILES for path, text in files(pattern)}
    late = []
    for name, look in looks():
        try:
            texts[name] = look()
        except TimeoutError:
            late.append(name)
    texts[LATE] = ", ".join(late)
    for cap in CAPS:
        packed = pack({name: capped(text, cap) for name, text in texts.items() if text})
        if len(packed) <= MOST_PRINTED:
            break
    sys.stdout.write(packed)


def looks() -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield name and look of all that is asked for, what is needed most first."""
    names = []

    def listed() -> str:
        names.extend(units())
        return ""

    yield "journals", listed
    for unit in names:
        yield f"journals/{unit}.log", partial(journal, unit)
    for name, command in COMMANDS.items():
        yield name, partial(shown, command)


def shown(command: str) -> str:
    """Return what a command prints, errors too.

    Raises:
        TimeoutError: There was no time left for it.
    """
    left = PATIENCE - (time.monotonic() - BEGAN)
    if left <= 0:
        raise TimeoutError
    try:
        done = subprocess.run(
            ["sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=left,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return done.stdout.decode(errors="replace")


def units() -> list[str]:
    """Return the names of our services that wrote into the journal: systemd forgets those that ended."""
    listed = shown("journalctl --field=_SYSTEMD_UNIT --no-pager --quiet")
    return sorted(unit for unit in listed.split() if unit.startswith("rackstack-"))


def journal(unit: str) -> str:
    """Return what a unit wrote since the host was started, the middle left out where that is much."""
    read = f"journalctl --boot --unit={unit} --output=short-iso-precise --no-pager --quiet"
    first = shown(f"{read} | head --bytes={MOST_OF_A_JOURNAL}")
    if len(first) < MOST_OF_A_JOURNAL:
        return first
    return f"{first}\n[… the middle is left out …]\n{shown(f'{read} --lines={LINES}')}"


def files(pattern: str) -> list[tuple[str, str]]:
    """Return path and text of the files that a pattern finds."""
    found = []
    for path in sorted(Path("/").glob(pattern[1:])):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                found.append((str(path), file.read(max(CAPS))))
        except OSError:
            continue
    return found


def capped(text: str, most: int) -> str:
    """Return a text without its middle where it is longer than `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters are left out here …]\n{text[-half:]}"


def pack(texts: dict[str, str]) -> str:
    """Return texts as one word that survives a terminal."""
    return base64.b64encode(gzip.compress(json.dumps(texts).encode())).decode()


if __name__ == "__main__":
    main()

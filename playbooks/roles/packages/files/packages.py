# ruff: noqa: INP001 - a program for the host, not part of a package
"""Have packages at exact releases, held where they are.

Usage: packages.py look WISH     (JSON: package → release, empty: the newest that the sources have)
       packages.py ensure WISH   (installs, moves up or down, holds; else one sentence and exit status 1)
       packages.py release KEEP  (the way back of all that were ever wished; JSON, `true`: they stay)

`look` prints JSON: `stale`, one sentence per package that is not as wished, and `versions`, package → the
whole version that is installed. A release is what a version says between epoch and revision: 580.126.20 of
580.126.20-0ubuntu1. What was there before the first change is written down in FOUND.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

FOUND = Path("/var/lib/rackstack/packages.json")
PROGRAM = Path("/run/rackstack-packages.py")  # this file, where an installation of minutes has it
PREFERENCES = Path("/etc/apt/preferences.d/60-rackstack-")
HELD = "hold"
SHOWN = 4  # versions of a source in a sentence
APT = ("apt-get", "-q", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=600")
# What a person has edited stays: no question can be answered here.
KEEP_EDITED = ("-o", "Dpkg::Options::=--force-confold", "-o", "Dpkg::Options::=--force-confdef")


def main(action: str, argument: str) -> int:
    """Do one action and return the exit status."""
    wish = json.loads(argument)
    if action == "look":
        sys.stdout.write(json.dumps(looked(wish)))
        return 0
    if action == "release":
        sys.stdout.write("changed\n" if release(stay=wish) else "as it was\n")
        return 0
    if said := ensure(wish):
        sys.stdout.write(f"{said}\n")
    return 1 if said else 0


def looked(wish: Mapping[str, str]) -> dict[str, object]:
    """Return what is not as wished, and the versions that are there."""
    there = installed(list(wish))
    return {
        "stale": [sentence for name, wanted in wish.items() for sentence in stale(name, wanted, there)],
        "versions": {name: version for name, (version, _) in there.items()},
    }


def stale(name: str, wanted: str, there: Mapping[str, tuple[str, bool]]) -> Iterator[str]:
    """Yield why a package is not as wished."""
    if name not in there:
        yield f"package {name} {wanted}".rstrip() + " is not installed"
        return
    version, held = there[name]
    if wanted and upstream(version) != wanted:
        yield f"package {name} is {version}, the plan says {wanted}"
    elif not held:
        yield f"package {name} {version} is not held, so an upgrade may move it"


def installed(names: list[str]) -> dict[str, tuple[str, bool]]:
    """Return name → version and whether it is held, of those that are fully installed."""
    layout = "${Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n"
    lines = output("dpkg-query", "--show", "--showformat", layout, *names).splitlines() if names else []
    rows = [line.split() for line in lines]
    return {row[0]: (row[3], row[1] == HELD) for row in rows if row[2:3] == ["installed"]}


def upstream(version: str) -> str:
    """Return the release that a version is of: without epoch and revision."""
    return re.sub(r"-[^-]*$", "", re.sub(r"^\d+:", "", version))


def ensure(wish: Mapping[str, str]) -> str:
    """Bring all packages to what is wished and hold them; return why it cannot be, as one sentence."""
    update = run(*APT, "update")
    there, offered = installed(list(wish)), {name: offers(name) for name in wish}
    chosen = {name: choice(wanted, there.get(name), offered[name]) for name, wanted in wish.items()}
    lacks = [lack(name, wish[name], offered[name]) for name, version in chosen.items() if not version]
    if lacks:
        return f"{'; '.join(lacks)}{errors(update.stderr)}"
    remember(there, list(wish))
    moving = [f"{name}={version}" for name, version in chosen.items() if move(version, there.get(name))]
    prefer(chosen)
    flags = ("--allow-downgrades", "--allow-change-held-packages", *KEEP_EDITED)
    if moving and (done := run(*APT, *flags, "install", *moving)).returncode:
        return f"apt-get could not install {', '.join(moving)}{errors(done.stderr)}"
    run("apt-mark", "hold", *wish)
    return ""


def choice(wanted: str, there: tuple[str, bool] | None, offered: list[str]) -> str:
    """Return the whole version to have; empty where no source has it."""
    if there and (not wanted or upstream(there[0]) == wanted):
        return there[0]
    return next((version for version in offered if not wanted or upstream(version) == wanted), "")


def offers(name: str) -> list[str]:
    """Return the versions that the sources have, newest first."""
    rows = [line.split("|") for line in output("apt-cache", "madison", name).splitlines()]
    return list(dict.fromkeys(row[1].strip() for row in rows if len(row) > 1))


def lack(name: str, wanted: str, offered: list[str]) -> str:
    """Return that no source has a package at its release, and what they have instead."""
    have = f"they have {', '.join(offered[:SHOWN])}" if offered else "they have none of it"
    return (
        f"package {name} {wanted}".rstrip() + f" is in no package source of this host ({have}): bring it into"
        " the mirror that the host uses, or plan for a release that is there"
    )


def move(version: str, there: tuple[str, bool] | None) -> bool:
    """Return whether a package has to be installed or moved."""
    return there is None or there[0] != version


def prefer(chosen: Mapping[str, str]) -> None:
    """Tell apt which versions it may take, so that what they depend on cannot pull in others."""
    for name, version in chosen.items():
        text = f"Package: {name}\nPin: version {version}\nPin-Priority: 1001\n"
        Path(f"{PREFERENCES}{name}.pref").write_text(text, encoding="utf-8")


def remember(there: Mapping[str, tuple[str, bool]], names: list[str]) -> None:
    """Write down, once, what was there before: the way back leads there."""
    found = read_found()
    found |= {name: list(there.get(name, ())) for name in names if name not in found}
    FOUND.parent.mkdir(parents=True, exist_ok=True)
    draft = FOUND.with_name(f".{FOUND.name}")
    draft.write_text(json.dumps(found), encoding="utf-8")
    draft.replace(FOUND)


def read_found() -> dict[str, list[object]]:
    """Return package → version and hold as they were found; an empty list: it was not there."""
    try:
        return dict(json.loads(FOUND.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def release(*, stay: bool) -> bool:
    """Give packages back: holds that are ours go; those that were not there go too, unless they stay.

    Raises:
        SystemExit: Some do not go, in one sentence; what was there before is known still.
    """
    found = read_found()
    there = installed(list(found))
    free = [name for name in found if name in there and there[name][1] and found[name][1:] != [True]]
    gone = [] if stay else [name for name in found if name in there and not found[name]]
    if free:
        run("apt-mark", "unhold", *free)
    if gone and (done := run(*APT, "--allow-change-held-packages", "purge", *gone)).returncode:
        sys.exit(
            f"apt-get could not remove {', '.join(gone)}{errors(done.stderr)}; mend that, then run again"
        )
    for name in found:
        Path(f"{PREFERENCES}{name}.pref").unlink(missing_ok=True)
    PROGRAM.unlink(missing_ok=True)
    FOUND.unlink(missing_ok=True)
    return bool(free or gone)


def errors(text: str) -> str:
    """Return what apt complains of, as the end of a sentence."""
    said = [line[2:].strip() for line in text.splitlines() if line.startswith("E:")]
    return f"; apt-get says: {'; '.join(said)}" if said else ""


def output(*command: str) -> str:
    """Return what a command prints."""
    return run(*command).stdout


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command that asks nobody anything."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, check=False
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say whether the wanted rules are in force on this host, and would be after a reboot.

Usage: look.py WANTED (JSON: nft, rules, file, unit, way_back)

Prints JSON: `refused` (what nft says against the rules, or empty), `in_force` (whether the live table is what
the rules make) and `stale` (why it has to be brought about, or empty).

How the kernel tells the rules is learnt from a network namespace that exists only for that question.
"""

import json
import subprocess
import sys
from pathlib import Path

TABLE = ("inet", "rackstack")


def main(wanted: str) -> None:
    """Print the look."""
    want = json.loads(wanted)
    live = listed(want["nft"])
    made, refused = made_by(want["rules"], want["nft"])
    in_force = made != "" and live == made
    answer = {
        "refused": refused,
        "in_force": in_force,
        "stale": not_kept(want) if in_force else differs(live),
    }
    sys.stdout.write(json.dumps(answer))


def listed(nft: str) -> str:
    """Return the table's rules without counters; empty where there is none."""
    question = [nft, "-s", "list", "table", *TABLE]
    return subprocess.run(question, capture_output=True, text=True, check=False).stdout


def made_by(rules: str, nft: str) -> tuple[str, str]:
    """Return what the kernel would list if these rules were in force, or else what is wrong with them."""
    script = f"{nft} -f - && {nft} -s list table {' '.join(TABLE)}"
    tried = subprocess.run(
        ["unshare", "--net", "sh", "-c", script], input=rules, capture_output=True, text=True, check=False
    )
    if tried.returncode:
        return "", (tried.stderr.strip() or f"exit status {tried.returncode}").splitlines()[0]
    return tried.stdout, ""


def differs(live: str) -> str:
    """Return how the live table is not the wanted one."""
    return f"the table {' '.join(TABLE)} is {'not the wanted one' if live else 'missing'}"


def not_kept(want: dict[str, str]) -> str:
    """Return why the rules would not last, or an empty text."""
    unit, back = want["unit"], f"{want['way_back']}.timer"
    if systemctl("is-active", back) == "active":
        return f"{back} still waits to take the rules back"
    file = Path(want["file"])
    if not file.exists() or file.read_text(encoding="utf-8") != want["rules"]:
        return f"{file} is not the wanted one"
    if systemctl("is-enabled", unit) != "enabled":
        return f"{unit} is not enabled"
    if systemctl("is-active", unit) != "active":
        return f"{unit} is not active"
    return ""


def systemctl(question: str, unit: str) -> str:
    """Return systemd's one word on a unit."""
    answer = subprocess.run(["systemctl", question, unit], capture_output=True, text=True, check=False)
    return answer.stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])

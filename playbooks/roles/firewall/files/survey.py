# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say what a host has for a firewall, and whether the rules would let this run in again.

Usage: survey.py ASKED (JSON: nft, user, address, networks)

Prints JSON: `lacks` (one sentence each), `uid` of the user (null without one), and `inside`, whether the
address is loopback or in one of the networks.
"""

import ipaddress
import json
import pwd
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path


def main(asked: str) -> None:
    """Print the survey."""
    ask = json.loads(asked)
    uid = user_id(ask["user"])
    answer = {
        "lacks": [*lacks(ask["nft"]), *user_lacks(ask["user"], uid)],
        "uid": uid,
        "inside": inside(ask["address"], ask["networks"]),
    }
    sys.stdout.write(json.dumps(answer))


def lacks(nft: str) -> Iterator[str]:
    """Yield what there has to be before there can be rules."""
    if not Path(nft).exists():
        yield f"command {nft} is missing, and the firewall is made of its rules: install the package nftables"
        return
    tried = subprocess.run([nft, "list", "tables"], capture_output=True, text=True, check=False)
    if tried.returncode:
        words = (tried.stderr.strip() or "no reason given").splitlines()[-1]
        yield (
            f"the kernel refuses nftables ({words}), and the firewall is made of its rules: load the module "
            "nf_tables or boot a kernel that has it"
        )


def user_lacks(user: str, uid: int | None) -> Iterator[str]:
    """Yield that the one user is missing who may reach the guarded ports."""
    if user and uid is None:
        yield (
            f"user {user} is missing, and the firewall lets only it and root reach the engine on loopback: "
            "run the playbook access, which makes it"
        )


def user_id(user: str) -> int | None:
    """Return the number of the user; rules name it by that, because names may be unknown while booting."""
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def inside(address: str, networks: Sequence[str]) -> bool:
    """Say whether an address reaches SSH under rules that accept these networks."""
    try:
        own = ipaddress.ip_address(address)
    except ValueError:
        return False
    return own.is_loopback or any(own in ipaddress.ip_network(network) for network in networks if network)


if __name__ == "__main__":
    main(*sys.argv[1:])

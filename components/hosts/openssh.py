"""How OpenSSH's client is called, as text: whom it trusts, and its way through a jump host. Pure."""

import shlex
from collections.abc import Iterable, Mapping

from components.hosts.record import Hop, JumpHost

SSH_PORT = 22
STRICT = {
    "StrictHostKeyChecking": "yes",
    "GlobalKnownHostsFile": "/dev/null",
    "IdentitiesOnly": "yes",
}
"""Options of every call: one host key, one key pair."""
UNATTENDED = {
    "BatchMode": "yes",
    "ConnectTimeout": "10",
    "ServerAliveInterval": "15",
    "ServerAliveCountMax": "4",
}
"""Options of calls that nobody watches: they ask nothing, and give up."""


def known_name(hop: Hop) -> str:
    """Return how SSH calls a host in its lists of known ones."""
    return hop.address if hop.port == SSH_PORT else f"[{hop.address}]:{hop.port}"


def known_hosts(hops: Iterable[Hop]) -> str:
    """Return the text of a known_hosts file that holds exactly the keys of these hosts."""
    return "".join(f"{known_name(hop)} {hop.host_key}\n" for hop in hops)


def knowing(hop: Hop) -> dict[str, str]:
    """Return the options that trust one host without any file."""
    key = " ".join(hop.host_key.split()[:2])
    return {
        "UserKnownHostsFile": "/dev/null",
        "KnownHostsCommand": f"/bin/echo {plain(known_name(hop))} {key}",
    }


def words(options: Mapping[str, str]) -> list[str]:
    """Return options as arguments.

    No ssh_config of the operator's account or machine is read: what is not among them does not apply.
    """
    return ["-F", "none", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]


def login(hop: Hop) -> list[str]:
    """Return the arguments that name a host, its port, and who logs in with which key.

    `-i` takes no path with a `%`: it looks for the file as it is written, and for a token in it afterwards.
    """
    key = shlex.quote(plain(hop.identity_file).replace("\\", "\\\\"))  # an option's value is split into words
    return ["-o", f"IdentityFile={key}", "-p", str(hop.port), f"{hop.user}@{hop.address}"]


def proxy(jump: JumpHost, options: Mapping[str, str]) -> dict[str, str]:
    """Return the option that leads through a jump host.

    `ProxyJump` would take neither its key nor its host key from a command line.

    Args:
        jump: Through whom.
        options: For the connection to it.
    """
    here = [plain(word) for word in ("ssh", *words(options), *login(jump))]
    return {"ProxyCommand": shlex.join([here[0], "-W", "[%h]:%p", *here[1:]])}


def plain(text: str) -> str:
    """Return a text so that ssh takes none of it for one of its tokens, such as `%h`."""
    return text.replace("%", "%%")

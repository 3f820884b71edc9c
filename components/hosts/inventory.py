"""Ansible's inventory, and the files and connections that it counts on, as values and text. Pure."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from components.hosts import openssh, program
from components.hosts.record import HostRecord, JumpHost

GROUP = "fleet"
_KNOWN_HOSTS, _KNOWN_JUMPS = "known_hosts", "known_jumps"
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def inventory(
    hosts: Sequence[HostRecord],
    variables: Mapping[str, Any],
    host_variables: Mapping[str, Mapping[str, Any]],
    private: str,
) -> dict[str, Any]:
    """Return the inventory: one group `fleet` that holds the hosts in the given (rank) order.

    Args:
        hosts: Who is in the fleet.
        variables: Variables of the whole group; no secrets, they would lie here in clear.
        host_variables: Host name → its own variables.
        private: Folder of the run, with the files of `known_hosts` and the sockets of `openers`.
    """
    sockets = _sockets(hosts, private)
    members = {
        host.name: {**host_variables.get(host.name, {}), **_connection(host, private, sockets)}
        for host in hosts
    }
    return {"all": {"children": {GROUP: {"hosts": members, "vars": dict(variables)}}}}


def known_hosts(hosts: Sequence[HostRecord]) -> dict[str, str]:
    """Return file in the run's folder → text: the only host keys that are accepted.

    Jump hosts have a file of their own: an address may be theirs here and another machine's behind them.
    """
    return {_KNOWN_HOSTS: openssh.known_hosts(hosts), _KNOWN_JUMPS: openssh.known_hosts(_jumps(hosts))}


def openers(hosts: Sequence[HostRecord], private: str) -> list[list[str]]:
    """Return a command for each jump host that opens a connection to it and leaves it open.

    All hosts behind it share that one: each on its own, they would come all at once, and a server refuses at
    random where more than ten connections have not logged in yet (sshd_config, MaxStartups). Where it is not
    there, ssh connects by itself.

    Args:
        hosts: Who is in the fleet.
        private: Folder of the run, where the sockets of these connections are.
    """
    return [
        ["ssh", "-f", "-N", "-M", *openssh.words(_shared(private, socket)), *openssh.login(jump)]
        for jump, socket in _sockets(hosts, private).items()
    ]


def literal(values: Mapping[str, Any]) -> str:
    """Return variables as YAML in which no text is ever taken for a template.

    The document is tagged `!unsafe` as a whole: an argument such as `{{` or `{%` reaches the host as it is
    written. On a single text the tag would undo its quotes, and "8000" would arrive as a number.
    """
    # YAML folds or refuses these inside double quotes, while JSON lets them stand.
    escaped = _NOT_IN_YAML.sub(
        lambda match: f"\\u{ord(match[0]):04x}", json.dumps(values, ensure_ascii=False)
    )
    return f"!unsafe {escaped}\n"


def _connection(host: HostRecord, private: str, sockets: Mapping[JumpHost, str]) -> dict[str, Any]:
    options = {"UserKnownHostsFile": f"{private}/{_KNOWN_HOSTS}", **openssh.STRICT, **openssh.UNATTENDED}
    if host.jump is not None:
        options |= openssh.proxy(host.jump, _shared(private, sockets[host.jump]))
    return {
        "ansible_host": host.address,
        "ansible_port": host.port,
        "ansible_user": host.user,
        "ansible_ssh_private_key_file": openssh.plain(host.identity_file),
        "ansible_ssh_common_args": shlex.join(openssh.words(options)),
        "ansible_python_interpreter": program.PYTHON,
        "ansible_become": host.user != "root",
    }


def _shared(private: str, socket: str) -> dict[str, str]:
    known = {"UserKnownHostsFile": f"{private}/{_KNOWN_JUMPS}", "ControlPath": socket}
    return {**known, **openssh.STRICT, **openssh.UNATTENDED}


def _sockets(hosts: Sequence[HostRecord], private: str) -> dict[JumpHost, str]:
    return {jump: f"{private}/jump-{index}" for index, jump in enumerate(_jumps(hosts))}


def _jumps(hosts: Sequence[HostRecord]) -> list[JumpHost]:
    return list(dict.fromkeys(host.jump for host in hosts if host.jump is not None))

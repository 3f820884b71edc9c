"""Ansible's inventory and SSH's known hosts as values and text. Pure."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from components.hosts.record import HostRecord

CONNECT_SECONDS = 10
GROUP = "fleet"
SSH_PORT = 22
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def inventory(
    hosts: Sequence[HostRecord],
    variables: Mapping[str, Any],
    host_variables: Mapping[str, Mapping[str, Any]],
    known_hosts: str,
) -> dict[str, Any]:
    """Return the inventory: one group `fleet` that holds the hosts in the given (rank) order.

    Args:
        hosts: Who is in the fleet.
        variables: Variables of the whole group; no secrets, they would lie here in clear.
        host_variables: Host name → its own variables.
        known_hosts: Path of the file with the only host keys that are accepted.
    """
    members = {
        host.name: {**host_variables.get(host.name, {}), **_connection(host, known_hosts)} for host in hosts
    }
    return {"all": {"children": {GROUP: {"hosts": members, "vars": dict(variables)}}}}


def known_name(host: HostRecord) -> str:
    """Return how SSH calls a host in its lists of known ones."""
    return host.address if host.port == SSH_PORT else f"[{host.address}]:{host.port}"


def known_hosts(hosts: Sequence[HostRecord]) -> str:
    """Return the text of a known_hosts file that holds exactly the keys of these hosts."""
    return "".join(f"{known_name(host)} {host.host_key}\n" for host in hosts)


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


def _connection(host: HostRecord, known_hosts: str) -> dict[str, Any]:
    return {
        "ansible_host": host.address,
        "ansible_port": host.port,
        "ansible_user": host.user,
        "ansible_ssh_private_key_file": host.identity_file,
        "ansible_ssh_common_args": shlex.join(_strict_options(known_hosts)),
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_become": host.user != "root",
    }


def _strict_options(known_hosts: str) -> list[str]:
    options = {
        "UserKnownHostsFile": known_hosts,
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "BatchMode": "yes",
        "IdentitiesOnly": "yes",
        "ConnectTimeout": str(CONNECT_SECONDS),
        "ServerAliveInterval": "15",
        "ServerAliveCountMax": "4",
    }
    # No ssh_config of the operator's account or machine: what is not in the inventory does not apply.
    return ["-F", "none", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]

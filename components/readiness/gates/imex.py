"""Whether the IMEX domain of the trays is up and every tray is connected with every other. Pure.

The service may be active without a domain: `systemctl` proves nothing here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from components.readiness.gates.refused import Check, Refused
from components.readiness.gates.sight import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.sight import Said
    from components.readiness.gates.wants import Wants

_GUIDE: Final = "https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide"
_STALE: Final = "a stale daemon holds the port after an unclean stop: `ss -ltnp`, end it, run `up` again"

UNREAD: Final = Check(
    "imex-answers",
    "an answer of `nvidia-imex-ctl -N -j` in a documented form",
    (
        (
            "nvidia-imex does not run, or its command service is off (IMEX_CMD_ENABLED=1): `journalctl -u "
            "nvidia-imex`"
        ),
        (
            "it cannot read /etc/nvidia-imex/nodes_config.cfg (exit status 255): run `up` again, the role "
            "imex writes it"
        ),
        _STALE,
    ),
    f"{_GUIDE}/cmdservice.html",
)
MEMBERS: Final = Check(
    "imex-members",
    "exactly the trays of the fleet in the domain, in one order on all of them",
    (
        (
            "nodes_config.cfg differs from tray to tray: run `up` again, the role imex writes one list and "
            "restarts all"
        ),
        (
            "the daemon was not restarted after the list changed, it is read at the start only: `systemctl "
            "restart nvidia-imex` on all"
        ),
        "another user of the same rack configured IMEX (a DRA driver): only one may own it",
    ),
    f"{_GUIDE}/config.html; https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/issues/289",
)
UP: Final = Check(
    "imex-domain-up",
    "domain UP with every node READY and one version",
    (
        "TCP 50000 is closed between trays: open it in any firewall beside ours",
        (
            "`nvidia-imex` is of another release than the driver on the node that is not READY: `nvidia-smi "
            "--version`, run `up` again"
        ),
        _STALE,
    ),
    f"{_GUIDE}/connections.html; https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/issues/654",
)
CONNECTED: Final = Check(
    "imex-all-connected",
    "C (connected) from every node to every node",
    (
        (
            "I, N or D: the node is not reachable, TCP 50000 is closed or its daemon is down: `journalctl -u "
            "nvidia-imex` there"
        ),
        "V: another driver or nvidia-imex release there: run `up` again",
        "M: another nodes_config.cfg there: run `up` again",
    ),
    f"{_GUIDE}/cmdservice.html",
)

CHECKS: Final = (UNREAD, MEMBERS, UP, CONNECTED)

_NODE: Final = re.compile(
    r"^Node #(?P<number>\d+)\s+- (?P<host>\S+)\s+- (?P<status>\w+)(?:\s+- Version: (?P<version>\S+))?\s*$"
)
_HEAD: Final = re.compile(r"^ Nodes From\\To +(?P<numbers>[\d ]+?)\s*$")
_ROW: Final = re.compile(r"^ +(?P<number>\d+) +(?P<letters>[!A-Z ]+?)\s*$")
_DOMAIN: Final = re.compile(r"^Domain State: (?P<status>\w+)\s*$")
_LETTERS: Final = {"CONNECTED": "C"}


@dataclass(frozen=True)
class Node:
    """One member of a domain.

    Attributes:
        status: READY, UNAVAILABLE, INITIALIZING …
        version: Of its nvidia-imex; empty where it is not told.
        links: Address of a peer → letter of the table, or the word of the JSON where it is not CONNECTED.
    """

    status: str
    version: str
    links: Mapping[str, str]


@dataclass(frozen=True)
class Domain:
    """What one daemon says of its domain.

    Attributes:
        status: UP, DOWN or DEGRADED.
        nodes: Address → member, in the order of nodes_config.cfg.
    """

    status: str
    nodes: Mapping[str, Node]


def read(said: Said) -> Domain:
    """Return what `nvidia-imex-ctl -N` says, as JSON (`-j`) or as text.

    Raises:
        NotUnderstood: It failed, or its form is none that is documented.
    """
    text = said.text()
    return _of_json(text) if text.lstrip().startswith("{") else _of_text(text)


def refusals(seen: Mapping[str, Domain], wants: Wants) -> Iterator[Refused]:
    """Yield what is wrong with the domains.

    Args:
        seen: Host name → what its daemon says.
        wants: What the plan wants.
    """
    asked = {host: seen[host] for host in wants.domain if host in seen}
    for host, domain in asked.items():
        yield from _of_one(host, domain, [wants.addresses[member] for member in wants.domain])
    yield from _one_order(asked)


def _of_one(host: str, domain: Domain, addresses: list[str]) -> Iterator[Refused]:
    members = list(domain.nodes)
    if set(members) != set(addresses):
        yield Refused(MEMBERS, (host,), f"its domain holds {', '.join(members)}", ", ".join(addresses))
    bad = [f"{address} is {node.status}" for address, node in domain.nodes.items() if node.status != "READY"]
    versions = sorted({node.version for node in domain.nodes.values() if node.version})
    if domain.status != "UP" or bad or len(versions) > 1:
        mixed = [f"versions {' and '.join(versions)}"] if len(versions) > 1 else []
        yield Refused(UP, (host,), f"its domain is {'; '.join((domain.status, *bad, *mixed))}")
    if broken := list(_broken(domain)):
        yield Refused(CONNECTED, (host,), f"its table says {', '.join(broken)}")


def _broken(domain: Domain) -> Iterator[str]:
    for address, node in domain.nodes.items():
        for peer in domain.nodes:
            if (letter := node.links.get(peer, "nothing")) != "C":
                yield f"{letter} from {address} to {peer}"


def _one_order(seen: Mapping[str, Domain]) -> Iterator[Refused]:
    orders = {host: ", ".join(domain.nodes) for host, domain in seen.items()}
    members = {tuple(sorted(domain.nodes)) for domain in seen.values()}
    if len(set(orders.values())) > 1 and len(members) == 1:
        told = "; ".join(f"{host} lists {order}" for host, order in orders.items())
        yield Refused(MEMBERS, tuple(orders), told)


def _of_json(text: str) -> Domain:
    try:
        found = json.loads(text)
        nodes = {str(node["host"]): _node(node) for node in found["nodes"].values()}
        status = found["status"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotUnderstood(
            "printed JSON without status, or without nodes that have host, status and connections"
        ) from None
    if not isinstance(status, str) or not nodes:
        raise NotUnderstood("printed JSON with no status or no node")
    return Domain(status, nodes)


def _node(found: Mapping[str, Any]) -> Node:
    links = {str(link["host"]): str(link["status"]) for link in found["connections"].values()}
    return Node(
        str(found["status"]),
        str(found.get("version", "")),
        {peer: _LETTERS.get(status, status) for peer, status in links.items()},
    )


def _of_text(text: str) -> Domain:
    lines = text.splitlines()
    nodes = {match["number"]: match for line in lines if (match := _NODE.match(line))}
    columns = next((match["numbers"].split() for line in lines if (match := _HEAD.match(line))), [])
    rows = {match["number"]: match["letters"].split() for line in lines if (match := _ROW.match(line))}
    status = next((match["status"] for line in lines if (match := _DOMAIN.match(line))), None)
    if status is None or not nodes or set(columns) != set(nodes) or set(rows) != set(nodes):
        raise NotUnderstood("printed a text without a full table of nodes and a domain state")
    return Domain(
        status, {match["host"]: _row(match, nodes, columns, rows[number]) for number, match in nodes.items()}
    )


def _row(
    node: re.Match[str], nodes: Mapping[str, re.Match[str]], columns: list[str], letters: list[str]
) -> Node:
    if len(letters) != len(columns):
        raise NotUnderstood(f"printed a row of {len(letters)} connections for {len(columns)} nodes")
    links = {nodes[column]["host"]: letter for column, letter in zip(columns, letters, strict=True)}
    return Node(node["status"], node["version"] or "", links)

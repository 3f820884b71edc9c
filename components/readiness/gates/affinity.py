"""Whether every GPU has a network device near enough for GPUDirect RDMA. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from components.readiness.gates.refused import Check, Refused
from components.readiness.gates.sight import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.sight import Said
    from components.readiness.gates.wants import Wants

UNREAD: Final = Check(
    "affinity-answers",
    "an answer of `nvidia-smi topo -m` with a table and its legend of network devices",
    (
        "the driver does not answer: see driver-answers",
        "a driver of a later form: file it with the output, nothing is taken for right that is not known",
    ),
    "manual page nvidia-smi(1), topo -m",
)
DEVICE: Final = Check(
    "affinity-device",
    "a table with the network devices that the GPUs use",
    (
        "mlx5_ib is not loaded: `lsmod`, run `up` again, the role rdma loads it",
        "the host has no adapter, or it has failed: `lspci -d 15b3:`, `dmesg | grep -i mlx5`",
    ),
    "manual page nvidia-smi(1), topo -m",
)
LISTED: Final = Check(
    "affinity-lists",
    "a row for every GPU",
    (
        "the driver does not see it: see driver-sees-gpus, whose refusal stands beside this one then",
        "it was lost between two answers of this look: `nvidia-smi -L`, `journalctl -k`, then run `up` again",
    ),
    "manual page nvidia-smi(1), topo -m",
)
NEAR: Final = Check(
    "affinity-near",
    "a network device at PIX or PXB (no host bridge between) for every GPU",
    (
        "a card sits in a slot of another switch than the vendor's diagram says: the machine's manual",
        "ACS is on and sends peers' traffic through the host bridge: turn it off in the BIOS setup",
        (
            "the machine is no reference design: NCCL would copy through host memory there, take another "
            "machine type"
        ),
    ),
    (
        "NCCL 2.30.7, src/graph/paths.cc (GPUDirect RDMA only up to PXB unless NCCL_NET_GDR_LEVEL says "
        "otherwise)"
    ),
)

CHECKS: Final = (UNREAD, DEVICE, LISTED, NEAR)

_ESCAPES: Final = re.compile(r"\x1b\[[\d;]*m")
_LEGEND: Final = re.compile(r"^\s+(?P<nic>NIC\d+): (?P<name>\S+)\s*$")
_RELATION: Final = re.compile(r"^(?:X|SYS|NODE|PHB|PXB|PIX|NV\d+)$")
_NEAR: Final = frozenset({"PIX", "PXB"})

Topology = dict[str, dict[str, str]]
"""GPU (`GPU0`) → network device (`mlx5_0`) → how both are joined (PIX, PXB, PHB, NODE, SYS)."""


def read(said: Said) -> Topology:
    """Return how GPUs and network devices are joined; a host without devices has GPUs with none.

    Raises:
        NotUnderstood: It failed, or there is no table, or a word in it is unknown.
    """
    lines = [_ESCAPES.sub("", line) for line in said.text().splitlines()]
    names = {match["nic"]: match["name"] for line in lines if (match := _LEGEND.match(line))}
    header, rows = _table(lines)
    nics = [name for name in header if name.startswith("NIC")]
    if set(nics) != set(names):
        columns, legend = ", ".join(nics) or "without a NIC", ", ".join(names) or "none"
        raise NotUnderstood(f"printed columns {columns} and a legend of {legend}")
    return {gpu: {names[nic]: words[header.index(nic)] for nic in nics} for gpu, words in rows.items()}


def used(topology: Topology) -> frozenset[str]:
    """Return the network devices that a GPU uses: those near to one."""
    return frozenset(nic for row in topology.values() for nic, relation in row.items() if relation in _NEAR)


def refusals(seen: Mapping[str, Topology], wants: Wants) -> Iterator[Refused]:
    """Yield every GPU that has no network device near it.

    Args:
        seen: Host name → its topology.
        wants: What the plan wants.
    """
    for host, topology in seen.items():
        if missing := [gpu for gpu in map("GPU{}".format, range(wants.gpus)) if gpu not in topology]:
            yield Refused(LISTED, (host,), f"nvidia-smi topo -m lists no {', '.join(missing)}")
        if not any(topology.values()):
            yield Refused(DEVICE, (host,), "nvidia-smi topo -m shows no network device")
            continue
        for gpu, row in topology.items():
            if not _NEAR & set(row.values()):
                shown = ", ".join(f"{nic} {relation}" for nic, relation in row.items())
                yield Refused(NEAR, (host,), f"{gpu} has {shown}")


def _table(lines: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the names of the columns, and the words below them of every row that is a GPU's."""
    header = next((line.split("\t") for line in lines if line.lstrip().startswith("GPU0\t")), [])
    columns = [word.strip() for word in header if re.fullmatch(r"(?:GPU|NIC)\d+", word.strip())]
    rows = {}
    for line in lines:
        name, *words = (word.strip() for word in line.split("\t"))
        if re.fullmatch(r"GPU\d+", name):
            rows[name] = words[: len(columns)]
    if not columns or {name for name in columns if name.startswith("GPU")} != set(rows):
        raise NotUnderstood("printed no table with a row and a column for every GPU")
    for name, words in rows.items():
        strange = [word for word in words if not _RELATION.match(word)]
        if strange or len(words) != len(columns):
            raise NotUnderstood(f"printed for {name} {', '.join(map(repr, strange)) or 'too few words'}")
    return columns, rows

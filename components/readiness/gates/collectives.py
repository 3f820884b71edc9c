"""By which way NCCL goes, and how fast: read from its own log and from what the ranks measured. Pure.

NCCL falls back to TCP without a word but in its log (NCCL_DEBUG=INFO). The words are those of NCCL 2.30.7:
src/transport/{p2p,net,shm,nvls,coll_net}.cc, src/init.cc, src/mnnvl.cc, src/debug.cc. What is measured is
counted as nccl-tests 2.19.6 does (doc/PERFORMANCE.md). Nobody here has run it on the hardware.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from components.readiness.gates import fabric
from components.readiness.gates.refused import Check, Refused, merged
from components.readiness.gates.sight import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from components.readiness.gates.trial import Exchange, Measured, Told
    from components.readiness.gates.wants import Engine, Wants

_ENV: Final = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
COLLECTIVES: Final = ("all_reduce", "alltoall")
"""What the ranks run (exchange.py)."""
TOLERANCE: Final = 0.1
"""Part of a baseline that may be missing, as in nccl-tests (NCCL_TESTS_MIN_BW, src/util.cu)."""

UNREAD: Final = Check(
    "collectives-answer",
    "an end of all ranks, NCCL's log with its transports, and figures of every collective",
    (
        "NCCL failed: its first NCCL WARN names the cause",
        (
            "a rank blocks in ncclCommInitRank: the fleet's firewall, another interface than the others', an "
            "NCCL that is no good here (github.com/vllm-project/vllm/issues/58290)"
        ),
        "NCCL_DEBUG=INFO did not reach the ranks, or NCCL of a later form: file it with the log",
    ),
    f"{_ENV} (NCCL_DEBUG)",
)
SIZE: Final = Check(
    "collectives-world-size",
    "as many NCCL ranks as the engine has GPUs",
    ("a rank did not come up: its own log names the cause", "CUDA_VISIBLE_DEVICES hides GPUs: drop it"),
    (
        "NCCL 2.30.7, src/init.cc; https://github.com/NVIDIA/nccl/issues/2186 (a crash that only ≥ 44 ranks "
        "show)"
    ),
)
TRANSPORT: Final = Check(
    "collectives-transport",
    "the fabric of the stack on every way between ranks",
    (
        "NVLink: IMEX channel or domain (imex-domain-up, channel-usable), or NCCL_MNNVL_ENABLE=0 somewhere",
        (
            "RDMA without GDRDMA: neither dma-buf nor nvidia_peermem works (`lsmod`; errno 524: "
            "NCCL_DMABUF_ENABLE=0 with nvidia_peermem), or the NIC is too far (affinity-near)"
        ),
        (
            "NET/Socket: NCCL found no NIC, mlx5_ib or libibverbs is missing or memlock is low, "
            "NCCL_IB_DISABLE or NCCL_NET is set"
        ),
        "SHM: P2P between GPUs of one host is off (IOMMU, ACS, NCCL_P2P_DISABLE)",
    ),
    f"{_ENV}; NCCL 2.30.7, src/transport",
)
MASK: Final = Check(
    "collectives-fabric-health",
    "no fault in any field of the healthMask that NCCL logs",
    fabric.HEALTHY.causes,
    fabric.HEALTHY.source,
)
RIGHT: Final = Check(
    "collectives-correct",
    "right results on every rank",
    (
        "a link or memory corrupts data: run `dcgmi diag -r 3`, look for Xid 74, 94, 95 and link errors",
        "a faulty NCCL for this topology: pin another (NCCL is a pin of the engine)",
    ),
    "components/readiness/gates/exchange.py, which knows what every rank must receive",
)
FAST: Final = Check(
    "collectives-bandwidth",
    f"the bus bandwidth of before, less at most {TOLERANCE:.0%}",
    (
        "a link is degraded: nvlink-all-active, nic-rate, pcie-width and the switch's error counters",
        "another job uses the same links: run `up` again when it is quiet",
        (
            "driver, firmware or NCCL changed: where that is meant, take the new figure by replacing the "
            "resource collectives (`pulumi up --replace`)"
        ),
    ),
    "the fleet's own baseline; nccl-tests, doc/PERFORMANCE.md (busbw)",
)

CHECKS: Final = (UNREAD, SIZE, TRANSPORT, MASK, RIGHT, FAST)

_INFO: Final = re.compile(r"\bNCCL INFO (?P<text>.*)$")
_WARN: Final = re.compile(r"\bNCCL WARN (?P<text>.*)$")
_VIA: Final = re.compile(r"^(?:Channel|CollNet) \S+ : .* via (?P<via>[A-Z0-9]+/.*)$")
_COMM: Final = re.compile(r"^comm \S+ rank \d+ nRanks (?P<ranks>\d+) nNodes (?P<nodes>\d+) ")
_MASK: Final = re.compile(r"^MNNVL busId (?P<bus>\S+) .* healthMask (?P<mask>0x[0-9a-f]+)$")
_NVLS: Final = re.compile(r"^(?:NVLS comm \S+ headRank|Connected NVLS tree)")

MNNVL, P2P, SHM, SOCKET, IB = "P2P/MNNVL", "P2P", "SHM", "NET/Socket", "NET/IB"
RDMA: Final = f"{IB}/GDRDMA"


@dataclass(frozen=True)
class Log:
    """What NCCL logged of one communicator over all ranks.

    Attributes:
        ranks: Of the largest communicator.
        nodes: As NCCL counts them: an NVLink domain is one.
        ways: Transports between ranks: P2P/MNNVL, P2P, SHM, NET/IB/GDRDMA, NET/IB, NET/Socket, NET/OTHER.
        nvls: Whether switches reduce (NVLink SHARP).
        masks: Bus id of a GPU → its `healthMask`.
    """

    ranks: int
    nodes: int
    ways: frozenset[str]
    nvls: bool
    masks: Mapping[str, int]


def read_log(text: str) -> Log:
    """Return what NCCL logged.

    Raises:
        NotUnderstood: It names no communicator or no transport.
    """
    warned = next((match["text"] for line in text.splitlines() if (match := _WARN.search(line))), "")
    told = [match["text"].strip() for line in text.splitlines() if (match := _INFO.search(line))]
    comms = [(int(match["ranks"]), int(match["nodes"])) for line in told if (match := _COMM.match(line))]
    ways = frozenset(_way(match["via"]) for line in told if (match := _VIA.match(line)))
    if not comms or not ways:
        raise NotUnderstood(
            f"logged no {'transport' if comms else 'communicator'}{f': {warned}' if warned else ''}"
        )
    ranks, nodes = max(comms)
    masks = {match["bus"]: int(match["mask"], 16) for line in told if (match := _MASK.match(line))}
    return Log(ranks, nodes, ways, any(_NVLS.match(line) for line in told), masks)


def judged(
    exchange: Exchange, told: Mapping[str, Told], wants: Wants, baseline: Mapping[str, float]
) -> tuple[Refused, ...]:
    """Return what is wrong with the collectives of one engine.

    Args:
        exchange: What its ranks did.
        told: Host name → what its ranks told, of every host.
        wants: What the plan wants.
        baseline: Collective → bus bandwidth that this fleet had before, in GB/s; empty the first time.
    """
    [engine] = [each for each in wants.engines if each.name == exchange.engine]
    if failed := failures(told):
        return failed
    refused: list[Refused] = []
    measured = [each for host in told.values() for each in host.measured]
    if untold := [name for name in COLLECTIVES if name not in {each.collective for each in measured}]:
        refused.append(Refused(UNREAD, tuple(engine.hosts), f"no rank told a figure of {', '.join(untold)}"))
    if exchange.backend == "nccl":
        try:
            refused += ways(
                engine, read_log("\n".join(each.log for each in told.values())), wants, exchange.world
            )
        except NotUnderstood as fault:
            refused.append(Refused(UNREAD, tuple(engine.hosts), f"NCCL {fault}"))
    refused += [each for one in measured for each in wrong(engine, one)]
    if exchange.backend == "nccl":
        refused += speeds(engine, largest(measured), baseline)
    return merged(refused)


def failures(told: Mapping[str, Told]) -> tuple[Refused, ...]:
    """Return which ranks failed, by host."""
    return merged(Refused(UNREAD, (host,), _failure(each)) for host, each in told.items() if each.code)


def _failure(told: Told) -> str:
    warned = [match["text"] for line in told.log.splitlines() if (match := _WARN.search(line))]
    return f"a rank ended with exit status {told.code}: {(warned or [told.error or 'it said nothing'])[0]}"


def largest(measured: Iterable[Measured]) -> dict[str, Measured]:
    """Return collective → what its largest message did."""
    return {each.collective: each for each in sorted(measured, key=lambda each: each.size)}


def wrong(engine: Engine, measured: Measured) -> Iterator[Refused]:
    """Yield that ranks received what they must not."""
    if measured.wrong:
        seen = f"{measured.collective} of {measured.size} bytes gave {measured.wrong} wrong values"
        yield Refused(RIGHT, tuple(engine.hosts), seen)


def ways(engine: Engine, log: Log, wants: Wants, world: int) -> Iterator[Refused]:
    """Yield what is wrong with how the ranks of an engine, so many, reach each other."""
    hosts = tuple(engine.hosts)
    if log.ranks != world:
        yield Refused(SIZE, hosts, f"NCCL has {log.ranks} ranks", f"{world}")
    allowed = _allowed(engine, wants)
    needed = allowed - {P2P} if len(hosts) > 1 else frozenset()
    if log.ways - allowed or (needed and not log.ways & needed):
        shown = ", ".join(sorted(log.ways))
        yield Refused(
            TRANSPORT,
            hosts,
            f"NCCL goes by {shown}",
            f"{' or '.join(sorted(needed or allowed))} between hosts" if needed else f"{P2P} inside the host",
        )
    for bus, mask in log.masks.items():
        if said := fabric.faults(mask):
            yield Refused(MASK, hosts, f"the GPU {bus} has healthMask {mask:#x} ({', '.join(said)})")


def speeds(
    engine: Engine, measured: Mapping[str, Measured], baseline: Mapping[str, float]
) -> Iterator[Refused]:
    """Yield what is slower than it was; nobody documents a floor that GB300 or B300 must reach.

    Args:
        engine: Whose ranks.
        measured: Collective → what was measured.
        baseline: Collective → bus bandwidth that this fleet had before, in GB/s; empty the first time.
    """
    for name, one in measured.items():
        usual = baseline.get(name)
        if usual is not None and one.busbw < usual * (1 - TOLERANCE):
            yield Refused(
                FAST,
                tuple(engine.hosts),
                f"{name} has {one.busbw:g} GB/s at {one.size} bytes",
                f"{usual:g} GB/s (baseline of this fleet), less at most {TOLERANCE:.0%}",
            )


def _way(via: str) -> str:
    """Return the transport in words like `P2P/MNNVL/read` or `NET/IB/0(2)/GDRDMA(PCI)/Shared`."""
    kind, name = via.split("/")[:2]
    if kind in {"NET", "COLLNET"}:
        return f"NET/{name}/GDRDMA" if "/GDRDMA" in via else f"NET/{name}"
    return MNNVL if (kind, name) == ("P2P", "MNNVL") else kind


def _allowed(engine: Engine, wants: Wants) -> frozenset[str]:
    if wants.fabric == "nvlink":
        return frozenset({MNNVL, P2P})
    by_hand = engine.env.get("NCCL_NET", "").lower() == "socket"
    return frozenset({P2P, RDMA, SOCKET} if by_hand else {P2P, RDMA})

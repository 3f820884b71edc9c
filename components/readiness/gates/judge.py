"""All gates on what all hosts showed: every refusal at once. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from components.readiness.gates import (
    affinity,
    channels,
    clock,
    collectives,
    driver,
    fabric,
    health,
    imex,
    links,
    memory,
    routing,
    settings,
    smi,
)
from components.readiness.gates.refused import Check, Refused, merged
from components.readiness.gates.sight import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from components.readiness.gates.sight import Said, Sight
    from components.readiness.gates.wants import Engine, Wants
    from stacks.catalog.hardware import Fabric

T = TypeVar("T")
SaidT = TypeVar("SaidT", bound="Said")


class Gate(NamedTuple):
    """One subject.

    Attributes:
        title: What it is about.
        looks_at: The tools and files that it reads.
        when: The fabrics and fleets that it is for.
        checks: What must be seen.
    """

    title: str
    looks_at: str
    when: str
    checks: tuple[Check, ...]


_BOTH: Final = "NVLink and RDMA"
_SPANS: Final = "NVLink, fleets of several hosts"
GATES: Final = (
    Gate("Driver", "`nvidia-smi -q -x`", _BOTH, driver.CHECKS),
    Gate("Fabric", "`nvidia-smi -q -x`, block Fabric", _BOTH, fabric.CHECKS),
    Gate("IMEX", "`nvidia-imex-ctl -N -j`", _SPANS, imex.CHECKS),
    Gate("IMEX channel", "`/proc/devices`, `/dev/nvidia-caps-imex-channels`", _SPANS, channels.CHECKS),
    Gate("Health", "`nvidia-smi -q -x`, `journalctl -k -b`, `dcgmi diag -r 2 -j`", _BOTH, health.CHECKS),
    Gate(
        "Links",
        "`nvidia-smi nvlink -s`, `/sys/class/infiniband`",
        f"{_BOTH}; ports where GPUs or the stack use them",
        links.CHECKS,
    ),
    Gate("Affinity", "`nvidia-smi topo -m`", "RDMA", affinity.CHECKS),
    Gate("Route", "`ip -j route get`", f"{_BOTH}, fleets of several hosts", routing.CHECKS),
    Gate("Memory", "`nvidia-smi -q -x`, `/proc`", _BOTH, memory.CHECKS),
    Gate("Clock", "each host's clock", _BOTH, clock.CHECKS),
    Gate("Settings", "what the gates above saw, and the plan", "engines on several hosts", settings.CHECKS),
    Gate(
        "Collectives",
        "NCCL's log (`NCCL_DEBUG=INFO`), all-reduce and all-to-all of all ranks by the engine's own torch",
        f"{_BOTH}; after the engine is installed, while none of its ranks runs",
        collectives.CHECKS,
    ),
)


@dataclass(frozen=True)
class Verdict:
    """What follows from what was seen.

    Attributes:
        refused: Everything that is not as it must be; empty: the ranks may start.
        environment: Host name → variables of its rank that only the host could tell.
    """

    refused: tuple[Refused, ...]
    environment: Mapping[str, Mapping[str, str]]


def judge(seen: Mapping[str, Sight], wants: Wants, fabrics: Mapping[str, Fabric]) -> Verdict:
    """Return the verdict on a fleet.

    Args:
        seen: Host name → what it showed, of every host.
        wants: What the plan wants.
        fabrics: The catalog's fabrics by name.
    """
    return _Judged(seen, wants).verdict(fabrics)


class _Judged:
    """Reads every tool once; an answer that is not understood is a refusal, and nothing more comes of it."""

    def __init__(self, seen: Mapping[str, Sight], wants: Wants) -> None:
        self._seen, self._wants = seen, wants
        self._unread: list[Refused] = []
        self._smi = self._read("nvidia-smi -q -x", driver.UNREAD, lambda sight: sight.smi, smi.read)
        self._links = self._read(
            "nvidia-smi nvlink -s", links.NVLINK_UNREAD, lambda sight: sight.nvlink, links.read
        )
        self._imex = self._read("nvidia-imex-ctl -N -j", imex.UNREAD, lambda sight: sight.imex, imex.read)
        self._channels = {
            host: found for host, sight in seen.items() if (found := sight.channels) and host in wants.domain
        }
        self._xids = self._read("the kernel log", health.KERNEL, lambda sight: sight.kernel, health.xids)
        self._tests = self._read(
            "dcgmi diag -r 2 -j", health.DIAG_UNREAD, lambda sight: sight.diag, health.diagnosed
        )
        self._routes = self._read("ip -j route get", routing.UNREAD, self._route, routing.read)
        self._topologies = self._read("nvidia-smi topo -m", affinity.UNREAD, self._topo, affinity.read)

    def verdict(self, fabrics: Mapping[str, Fabric]) -> Verdict:
        """Return what all gates say."""
        nics = {host: sight.nics for host, sight in self._seen.items()}
        used = {host: self._used(host) for host in self._seen}
        derived = settings.environment(self._wants, self._routes, nics, used)
        refused = [
            *self._unread,
            *self._of_hosts(),
            *links.nics(nics, used),
            *self._settings(derived, fabrics),
        ]
        return Verdict(merged(refused), derived)

    def _of_hosts(self) -> Iterator[Refused]:
        wants = self._wants
        yield from driver.refusals(self._smi, wants)
        yield from fabric.refusals(self._smi, wants)
        yield from imex.refusals(self._imex, wants)
        yield from channels.refusals(self._channels, wants)
        yield from health.counters(self._smi)
        yield from health.logged(self._xids)
        yield from health.tested(self._tests)
        yield from links.nvlinks(self._links, wants)
        yield from links.lanes(self._smi)
        yield from affinity.refusals(self._topologies, wants)
        yield from routing.refusals(self._routes, wants)
        yield from memory.refusals(
            self._smi, {host: sight.processes for host, sight in self._seen.items()}, wants
        )
        yield from clock.refusals(self._seen)

    def _settings(
        self, derived: Mapping[str, Mapping[str, str]], fabrics: Mapping[str, Fabric]
    ) -> Iterator[Refused]:
        for engine in self._wants.engines:
            yield from settings.interfaces(engine, derived)
            if self._known(engine):
                seen = settings.joined_by(engine, self._smi, self._imex)
                yield from settings.contradictions(engine, self._wants.fabric, seen, fabrics)

    def _known(self, engine: Engine) -> bool:
        """Return whether all was understood that says what joins the hosts of an engine."""
        known = set(self._smi) & set(self._imex) if self._wants.domain else set(self._smi)
        return known >= set(engine.hosts)

    def _used(self, host: str) -> frozenset[str]:
        listed = frozenset(self._wants.nics.get(host, ()))
        return listed or affinity.used(self._topologies.get(host, {}))

    def _topo(self, sight: Sight) -> Said | None:
        return sight.topo if self._wants.fabric == "rdma" else None

    def _route(self, sight: Sight) -> Said | None:
        return sight.route if len(self._wants.addresses) > 1 else None

    def _read(
        self, tool: str, unread: Check, pick: Callable[[Sight], SaidT | None], read: Callable[[SaidT], T]
    ) -> dict[str, T]:
        found = {}
        for host, sight in self._seen.items():
            said = pick(sight)
            try:
                if said is not None:
                    found[host] = read(said)
            except NotUnderstood as fault:
                self._unread.append(Refused(unread, (host,), f"{tool} {fault}"))
        return found

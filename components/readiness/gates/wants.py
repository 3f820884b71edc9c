"""What the plan wants to see on its hosts."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

_FROZEN = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Engine(BaseModel):
    """One engine: ranks that start together.

    Attributes:
        name: serve, prefill or decode.
        hosts: Its hosts in rank order.
        spans: Whether one of its tensor parallel groups lies on several hosts.
        transfers: Whether it hands its cache over to another engine, or takes it.
        flags: Its engine options as planned.
        env: Its variables as planned.
    """

    model_config = _FROZEN

    name: str
    hosts: list[str]
    spans: bool
    transfers: bool
    flags: dict[str, Any]
    env: dict[str, str]


class Wants(BaseModel):
    """What a fleet wants of its hosts.

    Attributes:
        fabric: What joins the machines.
        addresses: Host name → member address, in rank order; the first is the head.
        engines: Its engines.
        gpus: GPUs of a host.
        driver: Exact release of the driver; None where nobody says which.
        driver_floor: Oldest driver that serves; None where unknown.
        links: NVLinks of a GPU; None where nobody documents them.
        link_rate: Rate of each in GB/s; None likewise.
        share: Part of a GPU's memory that the engine takes, the most of all engines.
        user: The user that the ranks run as.
        nics: Host name → RDMA devices that a person listed; others are judged where GPUs use them.
        cliques: Host name → NVLink clique that a person says its GPUs are in.
    """

    model_config = _FROZEN

    fabric: Literal["nvlink", "rdma"]
    addresses: dict[str, str]
    engines: list[Engine]
    gpus: int
    driver: str | None = None
    driver_floor: str | None
    links: int | None = None
    link_rate: float | None = None
    share: float
    user: str
    nics: dict[str, list[str]] = {}
    cliques: dict[str, int] = {}

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return all hosts in rank order."""
        return tuple(self.addresses)

    @property
    def domain(self) -> tuple[str, ...]:
        """Return the hosts that one NVLink domain must span; none for one host alone, and over a network."""
        return self.hosts if self.fabric == "nvlink" and len(self.hosts) > 1 else ()

    def peer(self, host: str) -> str:
        """Return the address whose route counts: the head's, of the head the next host's; alone its own."""
        others = (address for name, address in self.addresses.items() if name != host)
        return next(others, self.addresses[host])

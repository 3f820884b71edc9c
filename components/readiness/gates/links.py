"""Whether every NVLink runs, and every network port that GPUs use. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from components.readiness.gates.refused import Check, Refused
from components.readiness.gates.sight import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.sight import Nic, Said
    from components.readiness.gates.smi import Smi
    from components.readiness.gates.wants import Wants

_KERNEL: Final = "Linux, Documentation/ABI/stable/sysfs-class-infiniband"

NVLINK_UNREAD: Final = Check(
    "nvlink-answers",
    "an answer of `nvidia-smi nvlink -s` with links and rates",
    (
        "the driver does not answer: see driver-answers",
        "a driver of a later form: file it with the output, nothing is taken for right that is not known",
    ),
    "manual page nvidia-smi(1), nvlink -s",
)
NVLINK: Final = Check(
    "nvlink-all-active",
    "every NVLink of every GPU active, as many and as fast as on the others",
    (
        "a link did not train: reboot the host, on NVL72 after the switch trays are up",
        "a cable, cage or switch port is bad (NVL72): the switch tray's log names the port",
        "the GPU is bad: Xid 74 in `journalctl -k`, have it replaced",
    ),
    "https://docs.nvidia.com/health-validation/reference/checks/nvlink",
)
NIC: Final = Check(
    "nic-active",
    "4: ACTIVE and 5: LinkUp on every port that GPUs use, one at least of each device",
    (
        "cable or transceiver: `mlxlink -d DEVICE`, replace it",
        "InfiniBand stays at INIT without a subnet manager: ask who runs the fabric",
        "the switch port is down or set to another speed: ask who runs the fabric",
    ),
    _KERNEL,
)
NIC_THERE: Final = Check(
    "nic-there",
    "every network device that the stack lists",
    (
        (
            "mlx5_ib is not loaded (`lsmod`): over RDMA run `up` again, the role rdma loads it; over NVLink "
            "`modprobe mlx5_ib`"
        ),
        (
            "the device has another name on this host: `ls /sys/class/infiniband`, correct nics: of "
            "machines.hosts"
        ),
    ),
    _KERNEL,
)
NIC_RATE: Final = Check(
    "nic-rate",
    "a rate, and the one that most ports of the fleet have",
    (
        "cable or transceiver trains at a lower speed or with fewer lanes: `mlxlink -d DEVICE`, replace it",
        "the switch port is set to another speed: ask who runs the fabric",
    ),
    _KERNEL,
)
WIDTH: Final = Check(
    "pcie-width",
    "all PCIe lanes that the device has",
    (
        "badly seated card or riser: power down, seat it again",
        "the slot has fewer lanes, or the firmware splits them: the machine's manual, its BIOS setup",
    ),
    "Linux, Documentation/ABI/testing/sysfs-bus-pci (current_link_width); nvidia-smi(1), Link Width",
)

CHECKS: Final = (NVLINK_UNREAD, NVLINK, NIC_THERE, NIC, NIC_RATE, WIDTH)

_GPU: Final = re.compile(r"^GPU (?P<index>\d+): .* \(UUID: \S+\)\s*$")
_RATE: Final = re.compile(r"[\d.]+ Gb/sec \(\d+X.*\)")
_LANES: Final = re.compile(r"[1-9]\d*")
_NONE: Final = "N/A"
_LINK: Final = re.compile(r"^\s+Link (?P<number>\d+): (?:(?P<rate>[\d.]+) GB/s|(?P<inactive><inactive>))\s*$")


@dataclass(frozen=True)
class NvLinks:
    """The NVLinks of one GPU: number → rate in GB/s, None where inactive."""

    rates: Mapping[int, float | None]

    @property
    def inactive(self) -> tuple[int, ...]:
        """Return the numbers of those that carry nothing."""
        return tuple(number for number, rate in self.rates.items() if rate is None)

    @property
    def told(self) -> str:
        """Return how many there are at which rates."""
        counted = Counter(rate for rate in self.rates.values() if rate is not None)
        return (
            " and ".join(f"{count} at {rate:g} GB/s" for rate, count in sorted(counted.items()))
            or "none active"
        )


def read(said: Said) -> dict[int, NvLinks]:
    """Return the links of each GPU by its index.

    Raises:
        NotUnderstood: It failed, or a line is of no known form.
    """
    found: dict[int, dict[int, float | None]] = {}
    for line in said.text().splitlines():
        if match := _GPU.match(line):
            found[int(match["index"])] = {}
        elif (match := _LINK.match(line)) and found:
            found[max(found)][int(match["number"])] = float(match["rate"]) if match["rate"] else None
        elif line.strip():
            raise NotUnderstood(f"printed a line of no known form: {line.strip()[:160]!r}")
    if not found or not all(found.values()):
        raise NotUnderstood("printed a GPU without links")
    return {index: NvLinks(rates) for index, rates in found.items()}


def nvlinks(seen: Mapping[str, Mapping[int, NvLinks]], wants: Wants) -> Iterator[Refused]:
    """Yield every GPU whose NVLinks are not all there.

    Args:
        seen: Host name → index of a GPU → its links.
        wants: What the plan wants.
    """
    everywhere = Counter(
        links.told for gpus in seen.values() for links in gpus.values() if not links.inactive
    )
    usual = everywhere.most_common(1)[0][0] if everywhere else "some active"
    wanted = f"{wants.links} at {wants.link_rate:g} GB/s" if wants.links and wants.link_rate else usual
    for host, gpus in seen.items():
        if missing := [f"GPU {index}" for index in range(wants.gpus) if index not in gpus]:
            yield Refused(NVLINK, (host,), f"nvidia-smi nvlink -s lists no {', '.join(missing)}", wanted)
        for index, links in gpus.items():
            if links.inactive:
                numbers = ", ".join(map(str, links.inactive))
                yield Refused(NVLINK, (host,), f"GPU {index} has the inactive NVLinks {numbers}", wanted)
            elif links.told != wanted:
                yield Refused(NVLINK, (host,), f"GPU {index} has NVLinks: {links.told}", wanted)


def nics(seen: Mapping[str, Mapping[str, Nic]], used: Mapping[str, frozenset[str]]) -> Iterator[Refused]:
    """Yield every network device that GPUs use and that does not run as it should.

    Args:
        seen: Host name → device → what the kernel says.
        used: Host name → devices that GPUs use.
    """
    rates = Counter(
        port.rate
        for host, found in seen.items()
        for name, nic in found.items()
        if name in used[host]
        for port in nic.ports.values()
        if _RATE.fullmatch(port.rate)
    )
    usual = rates.most_common(1)[0][0] if rates else ""
    for host, found in seen.items():
        for name in sorted(used[host]):
            if name in found:
                yield from _of_nic(host, name, found[name], usual)
            else:
                yield Refused(NIC_THERE, (host,), f"there is no {name} in /sys/class/infiniband", name)


def lanes(seen: Mapping[str, Smi]) -> Iterator[Refused]:
    """Yield every GPU that runs on fewer PCIe lanes than it has, or that does not say so.

    Where all of them say N/A, which is the driver's word for what a device does not have, none has lanes to
    judge: on Grace machines NVLink-C2C joins GPU and processor, and nobody has published what they say.

    Args:
        seen: Host name → what `nvidia-smi` says there.
    """
    if {gpu.most for smi in seen.values() for gpu in smi.gpus} == {_NONE}:
        return
    for host, smi in seen.items():
        for gpu in smi.gpus:
            what, width, most = f"GPU {gpu.index} ({gpu.bus})", gpu.width, gpu.most
            yield from _lanes(host, what, width.removesuffix("x"), most.removesuffix("x"))


def _of_nic(host: str, name: str, nic: Nic, usual: str) -> Iterator[Refused]:
    if not nic.ports:
        yield Refused(NIC, (host,), f"{name} has no port")
    for number, port in nic.ports.items():
        if (port.state, port.phys_state) != ("4: ACTIVE", "5: LinkUp"):
            yield Refused(
                NIC,
                (host,),
                f"port {number} of {name} is {port.state or 'unknown'}, {port.phys_state or 'unknown'}",
            )
        elif port.rate != usual:
            shown = port.rate or "a rate that the kernel does not say"
            yield Refused(NIC_RATE, (host,), f"port {number} of {name} runs at {shown}", usual)
    yield from _lanes(host, name, nic.width, nic.most)


def _lanes(host: str, what: str, width: str, most: str) -> Iterator[Refused]:
    if not _LANES.fullmatch(most):
        yield Refused(WIDTH, (host,), f"{what} says {most or 'nothing'} of the lanes that it has")
    elif width != most:
        yield Refused(WIDTH, (host,), f"{what} runs on {width or 'unknown'} lanes", most)

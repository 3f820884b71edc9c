"""`nvidia-smi -q -x`, read. Pure.

The form is that of nvsmi_device_v13.dtd, as drivers 570 to 595 print it on A100, H100, B200, GB200 and GB300
(github.com/NVIDIA/k8s-test-infra at 3b2b865d, tests/e2e/go/assertions/nvidiasmi/testdata/hardware).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from components.readiness.gates.sight import NotUnderstood

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.readiness.gates.sight import Said

LOST: Final = "GPU is lost"
"""What stands in every value of a GPU that the driver has lost."""
_HEALTH: Final = (
    "gpu_recovery_action",
    "ecc_errors/volatile/sram_uncorrectable_parity",
    "ecc_errors/volatile/sram_uncorrectable_secded",
    "ecc_errors/volatile/dram_uncorrectable",
    "ecc_errors/aggregate/sram_threshold_exceeded",
    "ecc_errors/channel_repair_pending",
    "ecc_errors/tpc_repair_pending",
    "ecc_errors/unrepairable_memory",
    "remapped_rows/remapped_row_pending",
    "remapped_rows/remapped_row_failure",
)
_FABRIC: Final = ("state", "status", "cliqueId", "clusterUuid")
_LATER: Final = (
    "ecc_errors/channel_repair_pending",
    "ecc_errors/tpc_repair_pending",
    "ecc_errors/unrepairable_memory",
)
"""Elements that older drivers or GPUs do not have (570.148 on A100, 580.105 on B200)."""
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True)
class Fabric:
    """The Fabric block of one GPU.

    Attributes:
        state: Of its registration with the fabric.
        status: Its error, where it is completed.
        clique: Number of its clique.
        cluster: UUID of its cluster; all zeros where the GPU is in none.
        health: Element of the block Health → its word.
    """

    state: str
    status: str
    clique: str
    cluster: str
    health: Mapping[str, str]

    @property
    def placed(self) -> bool:
        """Return whether it names a clique of a cluster; 0 and N/A are no clique, zeros are no cluster."""
        clique = self.clique.isascii() and self.clique.isdecimal() and int(self.clique) > 0
        return clique and bool(_UUID.fullmatch(self.cluster)) and bool(self.cluster.strip("0-"))


@dataclass(frozen=True)
class Gpu:
    """One GPU.

    Attributes:
        index: From 0, as `nvidia-smi` counts.
        bus: PCI address.
        fabric: Its place in the fabric.
        health: Path of an element → its word.
        total: Memory in MiB.
        free: Memory that nothing holds, in MiB.
        pids: Processes that hold some → how much, as it is printed.
        width: PCIe lanes that it runs on, `16x`.
        most: PCIe lanes that it could run on.
    """

    index: int
    bus: str
    fabric: Fabric
    health: Mapping[str, str]
    total: int
    free: int
    pids: Mapping[str, str]
    width: str
    most: str


@dataclass(frozen=True)
class Smi:
    """What `nvidia-smi` says of one host.

    Attributes:
        driver: Version of the loaded driver.
        gpus: Those that answer.
        lost: PCI addresses of those that are lost.
    """

    driver: str
    gpus: tuple[Gpu, ...]
    lost: tuple[str, ...]


def read(said: Said) -> Smi:
    """Return what it says.

    Raises:
        NotUnderstood: It failed, or lacks what is read here.
    """
    root = _parsed(said.text())
    found = root.findall("gpu")
    if _word(root, "attached_gpus") != str(len(found)):
        raise NotUnderstood(f"counts {_word(root, 'attached_gpus')} GPUs and lists {len(found)}")
    lost = [each for each in found if any(word.strip() == LOST for word in each.itertext())]
    gpus = [_gpu(index, each) for index, each in enumerate(found) if each not in lost]
    return Smi(_word(root, "driver_version"), tuple(gpus), tuple(each.get("id", "") for each in lost))


def _parsed(text: str) -> ET.Element:
    if "<!ENTITY" in text:
        raise NotUnderstood("printed XML with entities of its own")
    try:
        root = ET.fromstring(text)  # noqa: S314 -- without entities there is nothing that expands
    except ET.ParseError as fault:
        raise NotUnderstood(f"printed no XML ({fault})") from None
    if root.tag != "nvidia_smi_log":
        raise NotUnderstood(f"printed XML that starts with <{root.tag}>, not <nvidia_smi_log>")
    return root


def _gpu(index: int, element: ET.Element) -> Gpu:
    health = {path: _word(element, path) for path in _HEALTH if path not in _LATER}
    health |= {path: word for path in _LATER if (word := element.findtext(path)) is not None}
    return Gpu(
        index=index,
        bus=element.get("id", ""),
        fabric=_fabric(element),
        health=health,
        total=_mib(element, "fb_memory_usage/total"),
        free=_mib(element, "fb_memory_usage/free"),
        pids={
            _word(each, "pid"): _word(each, "used_memory")
            for each in element.iterfind("processes/process_info")
        },
        width=_word(element, "pci/pci_gpu_link_info/link_widths/current_link_width"),
        most=_word(element, "pci/pci_gpu_link_info/link_widths/max_link_width"),
    )


def _fabric(element: ET.Element) -> Fabric:
    state, status, clique, cluster = (_word(element, f"fabric/{name}") for name in _FABRIC)
    block = element.find("fabric/health")
    if block is None:
        raise NotUnderstood("has no element fabric/health")
    return Fabric(state, status, clique, cluster, {each.tag: (each.text or "").strip() for each in block})


def _word(element: ET.Element, path: str) -> str:
    word = element.findtext(path)
    if word is None:
        raise NotUnderstood(f"has no element {path}")
    return word.strip()


def _mib(element: ET.Element, path: str) -> int:
    number, _, unit = _word(element, path).partition(" ")
    if not (number.isascii() and number.isdecimal()) or unit != "MiB":
        raise NotUnderstood(f"says {path} is {_word(element, path)!r}, no number of MiB")
    return int(number)

# ruff: noqa: INP001 - a program for the host, not part of a package
"""Say whether this host can do RDMA as planned.

Usage: look.py WISH (JSON: gpudirect: dma-buf or nvidia_peermem, nics: the adapters that count, none for all,
priority: of lossless RoCE traffic)

Prints JSON: `lacks` (one sentence per thing that is not as planned), `mtu` (interface → MTU of RoCE ports),
and `ecn` (interface → on, off or unknown: inbox drivers do not always tell). Ports are told by `ibstat`,
priority flow control by `dcb`.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

CLASS = Path("/sys/class/infiniband")
NET = Path("/sys/class/net")
DRIVER = Path("/proc/driver/nvidia/version")
MODULES = Path("/sys/module")
# First kernel: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html
DMA_BUF = (5, 12)
PATIENCE = 20.0


def main(argument: str) -> None:
    """Print the look."""
    wish = json.loads(argument)
    shown = parsed(output("ibstat"))
    # Another one may be for storage, or for whoever manages the host, with an MTU of its own.
    ports = {name: port for name, port in shown.items() if name in (wish["nics"] or shown)}
    roce = {name: interface(name) for name, port in ports.items() if port.get("Link layer") == "Ethernet"}
    answer = {
        "lacks": [
            *(port_lacks(ports) if ports or not wish["nics"] else ()),
            *listed_lacks(wish["nics"], shown),
            *gpudirect_lacks(wish["gpudirect"]),
            *pfc_lacks(roce, wish["priority"]),
        ],
        "mtu": {each: read(NET / each / "mtu") for each in roce.values() if each},
        "ecn": {each: ecn(each, wish["priority"]) for each in roce.values() if each},
    }
    sys.stdout.write(json.dumps(answer))


def parsed(text: str) -> dict[str, dict[str, str]]:
    """Return adapter → key → value of what `ibstat` prints; adapters of several ports keep their first."""
    ports: dict[str, dict[str, str]] = {}
    for block in re.split(r"(?m)^CA '", text)[1:]:
        name, _, rest = block.partition("'")
        pairs = [line.strip().split(": ", 1) for line in rest.splitlines() if ": " in line]
        ports[name] = dict(reversed(pairs))
    return ports


def port_lacks(ports: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield ports that carry nothing."""
    if not ports:
        yield "ibstat shows no adapter: see that mlx5_ib is loaded and that `lspci` shows the adapters"
    active = [name for name, port in ports.items() if port.get("State") == "Active"]
    if ports and not active:
        states = ", ".join(f"{name} {port.get('State', 'unknown')}" for name, port in ports.items())
        yield f"no RDMA port is Active ({states}): see cables, switches and the subnet manager"


def listed_lacks(nics: Iterable[str], shown: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield adapters that a person listed and that are not there."""
    for name in nics:
        if name not in shown:
            yield f"ibstat does not show {name}: correct nics: of machines.hosts, or find it with `lspci`"


def gpudirect_lacks(way: str) -> Iterator[str]:
    """Yield why adapters cannot reach GPU memory in the planned way."""
    if way == "nvidia_peermem":
        if not (MODULES / way).exists():
            yield "kernel module nvidia_peermem is not loaded: see `dmesg | grep -i nvrm` there; run again"
        return
    release = os.uname().release
    if tuple(int(part) for part in re.findall(r"\d+", release)[:2]) < DMA_BUF:
        yield (
            f"kernel {release} is older than 5.12, the first with dma-buf for RDMA: install a newer one, or"
            " set rdma_gpudirect: nvidia_peermem in playbooks/roles/rdma/defaults/main.yml"
        )
    if "Open Kernel Module" not in read(DRIVER):
        yield (
            "the NVIDIA driver's open kernel modules are not loaded, and dma-buf needs them: restart the"
            " host, then run again"
        )


def pfc_lacks(roce: Mapping[str, str], priority: int) -> Iterator[str]:
    """Yield RoCE interfaces whose lossless priority has no flow control."""
    for name, device in roce.items():
        if not device:
            yield (
                f"RoCE adapter {name} has no network interface, which mlx5_core makes: see"
                " `dmesg | grep -i mlx5` there, then run again"
            )
            continue
        shown = output("dcb", "pfc", "show", "dev", device)
        if f"{priority}:on" not in shown.split():
            said = " ".join(shown.split()) or "nothing"
            yield (
                f"interface {device} has no priority flow control on priority {priority} (`dcb pfc show` says"
                f" {said[:200]}): set it there and on the switch"
            )


def ecn(device: str, priority: int) -> str:
    """Return whether both ends of congestion notification are on."""
    paths = [NET / device / "ecn" / end / "enable" / str(priority) for end in ("roce_np", "roce_rp")]
    values = {read(path) for path in paths}
    return "on" if values == {"1"} else "unknown" if values <= {"", "1"} else "off"


def interface(adapter: str) -> str:
    """Return the network interface of an adapter; empty where it has none."""
    return next(iter(sorted(path.name for path in (CLASS / adapter / "device" / "net").glob("*"))), "")


def read(path: Path) -> str:
    """Return a short text; empty where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def output(*command: str) -> str:
    """Return what a command prints; nothing where it is not there or hangs."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])

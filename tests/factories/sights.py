"""What hosts show that are well, in the tools' own forms, and what differs in a case.

Forms and figures: `nvidia-smi -q -x` of GB300 and B200, drivers 580.173.02 and 580.105.08, as
github.com/NVIDIA/k8s-test-infra at 3b2b865d shows them (tests/e2e/go/assertions/nvidiasmi/testdata), with
only the elements that are read; `nvidia-imex-ctl -N -j` as NVIDIA's ISV test describes what it saw on
2026-09-04; `nvidia-smi nvlink -s` and `topo -m` as published for B300 and DGX; `dcgmi diag -j` after
github.com/NVIDIA/DCGM 4.6.0, dcgmi/Diag.cpp; sysfs after the kernel's ABI/stable/sysfs-class-infiniband.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from components.readiness.gates.sight import Sight
from components.readiness.gates.wants import Engine, Wants

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NOON: Final = 1_780_000_000.0
_CLUSTER: Final = "00000001-0000-0000-0000-000000000001"
_NOWHERE: Final = "00000000-0000-0000-0000-000000000000"
_CLEAR: Final = {
    "gpu_recovery_action": "None",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "16x",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "16x",
    "ecc_errors/volatile/sram_uncorrectable_parity": "0",
    "ecc_errors/volatile/sram_uncorrectable_secded": "0",
    "ecc_errors/volatile/dram_uncorrectable": "0",
    "ecc_errors/aggregate/sram_threshold_exceeded": "No",
    "ecc_errors/channel_repair_pending": "No",
    "ecc_errors/tpc_repair_pending": "No",
    "remapped_rows/remapped_row_pending": "No",
    "remapped_rows/remapped_row_failure": "No",
    "fabric/state": "Completed",
    "fabric/status": "Success",
}
_GB300: Final = {
    **_CLEAR,
    "product_name": "NVIDIA GB300",
    "fb_memory_usage/total": "284208 MiB",
    "fb_memory_usage/free": "283262 MiB",
    "ecc_errors/unrepairable_memory": "No",
    "fabric/cliqueId": "32766",
    "fabric/clusterUuid": _CLUSTER,
    "fabric/health/summary": "Healthy",
    "fabric/health/bandwidth": "Full",
    "fabric/health/route_recovery_in_progress": "False",
    "fabric/health/route_unhealthy": "False",
    "fabric/health/access_timeout_recovery": "False",
    "fabric/health/incorrect_configuration": "None",
    "fabric/health/partition_assigned": "N/A",
}
_B200: Final = {
    **_CLEAR,
    "product_name": "NVIDIA B200",
    "fb_memory_usage/total": "183359 MiB",
    "fb_memory_usage/free": "182632 MiB",
    "fabric/cliqueId": "0",
    "fabric/clusterUuid": _NOWHERE,
    "fabric/health/summary": "Healthy",
    "fabric/health/bandwidth": "N/A",
    "fabric/health/route_recovery_in_progress": "N/A",
    "fabric/health/route_unhealthy": "N/A",
    "fabric/health/access_timeout_recovery": "False",
    "fabric/health/incorrect_configuration": "N/A",
}
_NVLINK_ENV: Final = {"NCCL_MNNVL_ENABLE": "1", "NCCL_CUMEM_ENABLE": "1", "NCCL_NVLS_ENABLE": "1"}


def wants(fabric: str, **changed: Any) -> Wants:
    """Return what two trays of four GB300, or two nodes of eight B200, are wanted to show."""
    trays = fabric == "nvlink"
    hosts = ["tray-0", "tray-1"] if trays else ["node-0", "node-1"]
    engine: dict[str, Any] = {
        "name": "serve",
        "hosts": hosts,
        "spans": trays,
        "transfers": False,
        "flags": {},
        "env": _NVLINK_ENV if trays else {},
    }
    fields: dict[str, Any] = {
        "fabric": fabric,
        "addresses": {host: f"10.0.0.{number}" for number, host in enumerate(hosts, 1)},
        "engines": [Engine(**(engine | changed.pop("engine", {})))],
        "gpus": 4 if trays else 8,
        "driver_floor": "580.65.06",
        "share": 0.92,
        "user": "rackstack",
    }
    return Wants(**(fields | changed))


def sights(wanted: Wants, changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Sight]:
    """Return what the hosts show.

    Args:
        wanted: What they are wanted to show.
        changes: Host name (`all` for every one) → tool → what differs there, as the builders below take it.
    """
    return {
        host: Sight.model_validate_json(
            json.dumps(_shown(wanted, host, {**changes.get("all", {}), **changes.get(host, {})}))
        )
        for host in wanted.addresses
    }


def said(out: str, code: int = 0, err: str = "") -> dict[str, Any]:
    """Return an answer of a tool."""
    return {"code": code, "out": out, "err": err}


def _shown(wanted: Wants, host: str, change: Mapping[str, Any]) -> dict[str, Any]:
    trays = wanted.fabric == "nvlink"
    tools: dict[str, Callable[[Wants, str, Any], str]] = {
        "smi": smi,
        "nvlink": nvlink,
        "topo": topo,
        "imex": imex,
        "diag": diag,
        "route": route,
    }
    found: dict[str, Any] = {
        tool: said(**change[tool])
        if _is_answer(change.get(tool))
        else said(build(wanted, host, change.get(tool)))
        for tool, build in tools.items()
    }
    offset = change.get("clock", {"ahead": 0.0, "took": 0.1})
    channels = {"major": 234, "device": [234, 0], "usable": said("")} | change.get("channels", {})
    return found | {
        "imex": found["imex"] if trays else None,
        "channels": channels if trays else None,
        "kernel": kernel(change.get("kernel", ())),
        "nics": nics(wanted, change.get("nics", {})),
        "processes": change.get("processes", {}),
        "shows": {},
        "clock": NOON + offset["ahead"] + offset["took"] / 2,
        "asked": NOON,
        "answered": NOON + offset["took"],
        **({"diag": None} if change.get("busy") else {}),
    }


def _is_answer(change: Any) -> bool:
    return isinstance(change, dict) and "out" in change


def smi(wanted: Wants, _host: str, change: Mapping[Any, Any] | None) -> str:
    """Return XML; change: `driver`, `gpus` (how many), and index of a GPU → path → word, `lost` or `pids`."""
    change = change or {}
    root = ET.Element("nvidia_smi_log")
    count = change.get("gpus", wanted.gpus)
    ET.SubElement(root, "driver_version").text = change.get("driver", "580.173.02")
    ET.SubElement(root, "attached_gpus").text = str(count)
    for index in range(count):
        _gpu(root, index, (_GB300 if wanted.fabric == "nvlink" else _B200), change.get(index, {}))
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n'
    return head + ET.tostring(root, encoding="unicode")


def _gpu(root: ET.Element, index: int, usual: Mapping[str, str], change: Mapping[str, Any]) -> None:
    gpu = ET.SubElement(root, "gpu", id=f"0000000{index}:06:00.0")
    for path, word in {**usual, **change}.items():
        if path not in {"pids", "lost"} and word is not None:
            _set(gpu, path, "GPU is lost" if change.get("lost") else str(word))
    processes = ET.SubElement(gpu, "processes")
    for pid, used in change.get("pids", {}).items():
        info = ET.SubElement(processes, "process_info")
        for name, word in {
            "pid": pid,
            "type": "C",
            "process_name": "[Not Found]",
            "used_memory": used,
        }.items():
            ET.SubElement(info, name).text = str(word)


def _set(element: ET.Element, path: str, word: str) -> None:
    for name in path.split("/"):
        found = element.find(name)
        element = ET.SubElement(element, name) if found is None else found
    element.text = word


def nvlink(wanted: Wants, _host: str, change: Mapping[Any, Any] | None) -> str:
    """Return a table; change: index of a GPU → number of a link → its words; None leaves either out."""
    change = change or {}
    lines = []
    product = (_GB300 if wanted.fabric == "nvlink" else _B200)["product_name"]
    for index in (index for index in range(wanted.gpus) if change.get(index, {}) is not None):
        lines.append(f"GPU {index}: {product} (UUID: GPU-00000000-0000-0000-0000-00000000000{index})")
        links = dict.fromkeys(range(18), "53.125 GB/s") | change.get(index, {})
        lines += [f"\t Link {number}: {rate}" for number, rate in links.items() if rate is not None]
    return "\n".join(lines) + "\n"


def topo(wanted: Wants, _host: str, change: Mapping[str, str] | None) -> str:
    """Return a table with a device for every GPU; change: `GPU0 mlx5_0` → relation."""
    gpus = [f"GPU{index}" for index in range(wanted.gpus)]
    devices = [f"mlx5_{index}" for index in range(wanted.gpus)]
    columns = [*gpus, *(f"NIC{index}" for index in range(len(devices)))]
    lines = [
        "\t".join(
            ("", *(f"\x1b[4m{name}" for name in columns), "CPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m")
        )
    ]
    lines[0] = lines[0].replace("\x1b[4mGPU0", "\x1b[4mGPU0\x1b[0m")
    for row in gpus:
        relations = [" X " if row == gpu else "NV18" for gpu in gpus]
        relations += [_relation(row, device, change or {}) for device in devices]
        lines.append("\t".join((row, *relations, "0-55,112-167", "0", "N/A")))
    lines += ["", "Legend:", "", "  X    = Self", "", "NIC Legend:", ""]
    lines += [f"  NIC{index}: {device}" for index, device in enumerate(devices)]
    return "\n".join(lines) + "\n"


def _relation(gpu: str, device: str, change: Mapping[str, str]) -> str:
    same = gpu.removeprefix("GPU") == device.removeprefix("mlx5_")
    return change.get(f"{gpu} {device}", "PIX" if same else "SYS")


def imex(wanted: Wants, _host: str, change: Mapping[Any, Any] | None) -> str:
    """Return JSON; change: `domain`, `members`, address → status or version, `FROM>TO` → status."""
    change = change or {}
    members = change.get("members", list(wanted.addresses.values()))
    nodes = {
        str(number): {
            "status": change.get(address, "READY"),
            "host": address,
            "connections": {
                str(other): {
                    "host": peer,
                    "status": change.get(f"{address}>{peer}", "CONNECTED"),
                    "changed": True,
                }
                for other, peer in enumerate(members)
            },
            "changed": True,
            "version": change.get(f"{address} version", "580.173.02"),
        }
        for number, address in enumerate(members)
    }
    return json.dumps(
        {"nodes": nodes, "timestamp": "12/1/2026 12:00:00.000", "status": change.get("domain", "UP")}
    )


def diag(_wanted: Wants, _host: str, change: Mapping[Any, Any] | None) -> str:
    """Return JSON of three tests; change: test → status, `warning` → what those that are not well said."""
    change = change or {}
    statuses = {name: status for name, status in change.items() if name != "warning"}
    tests = {"software": "Pass", "memory": "Pass", "pcie": "Pass"} | statuses
    shown = [
        {
            "name": name,
            "results": [{"entity_group": "GPU", "entity_group_id": 1, "entity_id": 0, "status": status}],
            "test_summary": {"status": status} | _warned(status, change),
        }
        for name, status in tests.items()
    ]
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Deployment", "tests": shown}]}})


def _warned(status: str, change: Mapping[str, Any]) -> dict[str, Any]:
    if status == "Pass" or "warning" not in change:
        return {}
    warning = {"warning": change["warning"], "error_id": 1, "error_category": 1, "error_severity": 1}
    return {"warnings": [warning]}


def route(wanted: Wants, host: str, change: Mapping[str, str] | None) -> str:
    """Return JSON of one route; change: its keys."""
    found: dict[str, Any] = {
        "dst": wanted.peer(host),
        "dev": "eth0",
        "prefsrc": wanted.addresses[host],
        "flags": [],
        "uid": 0,
        "cache": [],
    }
    return json.dumps([{**found, **(change or {})}])


def kernel(change: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return a log; change: its lines that name an error, or `out`, `code`, `err` and how many `lines`."""
    if isinstance(change, Mapping):
        return {**said(""), "lines": 0, **change}
    return {**said("".join(f"{line}\n" for line in change)), "lines": 1207}


def nics(wanted: Wants, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a device for every GPU; change: device → keys of port 1 or of the device, None: no device."""
    found: dict[str, Any] = {}
    for name in (f"mlx5_{index}" for index in range(wanted.gpus)):
        differs = change.get(name, {})
        if differs is not None:
            port = {
                "state": "4: ACTIVE",
                "phys_state": "5: LinkUp",
                "rate": "400 Gb/sec (4X NDR)",
                "link_layer": "InfiniBand",
            }
            device = {"width": "16", "most": "16"}
            found[name] = {
                **{key: differs.get(key, value) for key, value in device.items()},
                "ports": differs.get(
                    "ports", {"1": {key: differs.get(key, value) for key, value in port.items()}}
                ),
            }
    return found

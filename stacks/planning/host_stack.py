"""What a machine with NVIDIA GPUs needs below the engine: which roles, packages and settings. Pure.

Package names are those of DGX OS 7 as NVIDIA's DeepOps installs it
(https://github.com/NVIDIA/deepops at 03e19e9, roles/nvidia-dgx/vars/ubuntu-24.04.yml).
"""

from collections.abc import Iterator, Mapping

from stacks.config import BareMetalMachines
from stacks.planning.design import Design
from stacks.planning.drivers import driver_floor
from stacks.planning.hosts import HostStack

NEWEST = ""
"""Release of a package of which nobody documents one: the sources' newest, held where it was found."""

_DCGM = "datacenter-gpu-manager-4-cuda13"
_TOOLS = {"fabric_manager": ("infiniband-diags",), "rdma": ("rdma-core", "infiniband-diags")}
"""Role → tools of the distribution: Fabric Manager's start script asks `ibstat`, RDMA's checks too."""


def host_stack(design: Design) -> HostStack | None:
    """Return what goes onto each machine; None where it has no NVIDIA GPUs."""
    if design.family.vendor != "nvidia":
        return None
    driver, roles = wanted_driver(design), tuple(_roles(design))
    machine = design.machine
    tools = dict.fromkeys(tool for role in roles for tool in _TOOLS.get(role, ()))
    return HostStack(
        roles=roles,
        driver=driver,
        driver_floor=driver_floor(design),
        packages=_packages(roles, driver) if driver else {},
        tools=tuple(tools),
        settings={key: str(each.value) for key, each in machine.settings.items()},
        kernel_arguments=tuple(f"{key}={each.value}" for key, each in machine.kernel_arguments.items()),
    )


def wanted_driver(design: Design) -> str | None:
    """Return the exact driver; None where nobody says which."""
    machines = design.config.machines
    return machines.driver if isinstance(machines, BareMetalMachines) else None


def _roles(design: Design) -> Iterator[str]:
    yield from ("tuning", "nvidia_driver", "limits")
    if design.fabric.kind == "rdma":
        yield "rdma"
    if "nvidia-fabricmanager" in design.machine.pins:
        yield "fabric_manager"
    if "nvidia-imex" in design.machine.pins:
        yield "imex"
    yield "dcgm"


def _packages(roles: tuple[str, ...], driver: str) -> Mapping[str, Mapping[str, str]]:
    branch = driver.partition(".")[0]
    of_roles = {
        "nvidia_driver": {f"nvidia-driver-{branch}-open": driver, "libnvidia-nscq": driver},
        "fabric_manager": {"nvidia-fabricmanager": driver, "libnvsdm": driver, "nvlsm": NEWEST},
        "imex": {"nvidia-imex": driver},
        "dcgm": {_DCGM: NEWEST},
    }
    return {role: packages for role, packages in of_roles.items() if role in roles}

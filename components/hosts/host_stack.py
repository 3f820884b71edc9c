"""The variables of the roles below the engine (driver, fabric, settings), from the plan. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

from components.hosts import storage
from stacks.planning.plan import FleetPlan

ROLES = ("tuning", "nvidia_driver", "limits", "rdma", "fabric_manager", "imex", "dcgm")
SHARED = ("host_stack", "packages", "settle", "reboot")
HUGE_PAGES = 0  # no document asks for any; they would be taken from what the engine pins
UNNAMED = ""  # no driver yet: such a plan can be shown, and `up` refuses it


def of_fleet(plan: FleetPlan) -> dict[str, Any]:
    """Return the variables that all hosts share; empty where the machines need none of these roles."""
    stack = plan.host_stack
    if stack is None:
        return {}
    accelerator, driver = plan.machine.accelerator, stack.driver or UNNAMED
    of_roles: dict[str, dict[str, Any]] = {
        "tuning": {
            "tuning_settings": dict(stack.settings),
            "tuning_kernel_arguments": list(stack.kernel_arguments),
        },
        "nvidia_driver": {
            "nvidia_driver_release": driver,
            "nvidia_driver_floor": stack.driver_floor or driver,
        },
        "limits": {"limits_hugepages": HUGE_PAGES},
        "fabric_manager": {
            "fabric_manager_release": driver,
            "fabric_manager_driver": driver,
            "fabric_manager_accelerator": accelerator,
        },
        "imex": {"imex_driver": driver, "imex_accelerator": accelerator},
        "dcgm": {"dcgm_gpus": plan.machine.gpus},
    }
    variables: dict[str, Any] = {
        "host_stack_roles": list(stack.roles),
        "packages_keep": plan.claims is None or "drivers" in plan.claims.keep,
    }
    for role in stack.roles:
        variables |= of_roles.get(role, {})
    return variables | {f"{role}_packages": dict(wish) for role, wish in stack.packages.items()}


def of_hosts(plan: FleetPlan, addresses: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return host name → its own variables: the trays of its NVLink domain, or its RDMA devices.

    Args:
        plan: The fleet.
        addresses: Host name → address that the other members reach.
    """
    if plan.host_stack is None:
        return {}
    own: dict[str, dict[str, Any]] = {host.name: {} for host in plan.hosts}
    for host in plan.hosts:
        if "imex" in plan.host_stack.roles:
            nodes = [addresses[each.name] for each in plan.hosts if each.domain == host.domain]
            own[host.name] |= {"imex_nodes": nodes, "imex_address": addresses[host.name]}
        if "rdma" in plan.host_stack.roles:
            own[host.name] |= {"rdma_nics": list(host.nics)}
    return own


def unused(plan: FleetPlan) -> Collection[str]:
    """Return the roles that this fleet runs nothing of, whose files are no reason to run anything again."""
    without = set() if storage.of_hosts(plan) else {storage.ROLE}
    if plan.host_stack is None:
        return {*ROLES, *SHARED, *without}
    return set(ROLES) - set(plan.host_stack.roles) | without

"""Which roles, packages and settings the machines of the shipped stacks get."""

import pytest

from stacks.planning.host_stack import NEWEST
from tests.factories.stacks import planned


@pytest.mark.parametrize(
    ("stack", "roles"),
    [
        ("kimi-k3-gb300", ["tuning", "nvidia_driver", "limits", "imex", "dcgm"]),
        ("kimi-k3-b200", ["tuning", "nvidia_driver", "limits", "rdma", "fabric_manager", "dcgm"]),
        ("kimi-k3-b300", ["tuning", "nvidia_driver", "limits", "fabric_manager", "dcgm"]),
    ],
)
def test_fabric_and_machine_name_the_roles(stack: str, roles: list[str]) -> None:
    below = planned(stack).host_stack
    assert below
    assert list(below.roles) == roles
    assert below.driver_floor == "580.65.06"
    assert below.settings == {"kernel.numa_balancing": "0"}
    assert below.kernel_arguments == (("init_on_alloc=0",) if "gb300" in stack else ())
    assert ("infiniband-diags" in below.tools) == ("fabric_manager" in roles)


@pytest.mark.parametrize("stack", ["lab", "kimi-k3-mi355x"])
def test_machines_without_nvidia_gpus_get_none(stack: str) -> None:
    assert planned(stack).host_stack is None


def test_a_stack_without_a_driver_cannot_be_started() -> None:
    plan = planned("kimi-k3-gb300")
    assert plan.host_stack
    assert (plan.host_stack.driver, plan.host_stack.packages) == (None, {})
    assert any(each.startswith("machines.driver does not say") for each in plan.missing)


def test_restarts_are_foretold_with_reason_and_order() -> None:
    said = planned("kimi-k3-gb300", {"machines.driver": "580.126.20"}).warnings
    (told,) = [each for each in said if "restarts the machines" in each]
    assert told == (
        "`prepare` restarts the machines on which another driver than 580.126.20, or nouveau, is loaded or"
        " the kernel was started without init_on_alloc=0, one after another: tray-0, tray-1"
    )
    assert not any("restarts the machines" in each for each in planned("kimi-k3-gb300").warnings)


def test_whatever_belongs_to_the_driver_is_of_its_release() -> None:
    plan = planned("kimi-k3-b200", {"machines.driver": "580.126.20"})
    assert plan.host_stack
    assert plan.host_stack.packages == {
        "nvidia_driver": {"nvidia-driver-580-open": "580.126.20", "libnvidia-nscq": "580.126.20"},
        "fabric_manager": {"nvidia-fabricmanager": "580.126.20", "libnvsdm": "580.126.20", "nvlsm": NEWEST},
        "dcgm": {"datacenter-gpu-manager-4-cuda13": NEWEST},
    }
    assert not any("machines.driver" in each for each in plan.missing)

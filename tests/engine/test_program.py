"""The program under the real engine, as far as it comes without machines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.factories.hosts import KEY
from tests.factories.project import change_fleet, copy_project
from tests.factories.pulumi import Pulumi
from tests.factories.stacks import NAMES, planned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def stack(tmp_path: Path) -> Callable[[str], Pulumi]:
    """Return what makes a stack of a copy of this project."""

    def made(name: str) -> Pulumi:
        copy_project(tmp_path / "project")
        pulumi = Pulumi(tmp_path / "project", tmp_path / "state", name)
        pulumi.run("stack", "init", name)
        return pulumi

    return made


@pytest.fixture
def lab(stack: Callable[[str], Pulumi]) -> Pulumi:
    """Return the stack `lab`."""
    return stack("lab")


def preview(pulumi: Pulumi, code: int = 0) -> str:
    return pulumi.run("preview", "--stack", pulumi.stack, code=code)


def test_every_fault_of_a_stack_file_is_shown_at_once_before_any_resource(lab: Pulumi) -> None:
    change_fleet(lab.home, colour="red", workload={"context": "long"}, model="${MODEL}", layout=[2])
    shown = preview(lab, code=1)
    for path in ("colour", "workload.context", "model", "layout"):
        assert f"stacks/Pulumi.lab.yaml: rackstack:fleet.{path}: " in shown
    assert "Traceback" not in shown
    assert "rack:fleet:" not in shown


def test_a_floating_pin_is_refused_with_those_that_exist(lab: Pulumi) -> None:
    change_fleet(lab.home, engine="latest")
    shown = preview(lab, code=1)
    assert "latest" in shown
    assert "vllm-0.33.0-cu130" in shown


def test_a_key_that_is_no_secret_of_the_stack_is_refused_with_the_way_out(lab: Pulumi) -> None:
    change_fleet(lab.home, access={"keys": [{"name": "own", "secret": "myKey"}]})
    shown = preview(lab, code=1)
    assert (
        "access.keys.0.secret: myKey: there is no such secret; run `pulumi config set --secret myKey`"
        in shown
    )
    assert "rack:fleet:" not in shown


def test_a_preview_shows_the_plan_and_what_is_known(lab: Pulumi) -> None:
    shown = preview(lab)
    assert re.search(r'model +: "lab-qwen3"', shown)
    assert "# lab: lab-qwen3 on 2 hosts" in shown
    assert "17 to create" in shown


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Pulumi:
    """Return one copy of this project with one backend, for previews of all stacks."""
    home = tmp_path_factory.mktemp("shared")
    copy_project(home / "project")
    return Pulumi(home / "project", home / "state", "lab")


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_stack_is_shown_whole(shared: Pulumi, name: str) -> None:
    shared.run("stack", "init", name)
    shown, plan = shared.run("preview", "--stack", name), planned(name)
    machine = "rack:lab:Host" if plan.provider == "lab" else "rack:fleet:Machine"
    assert created(shown, machine) == {host.name for host in plan.hosts}
    assert created(shown, "rack:fleet:GpuCluster") == {plan.fabric.kind}
    if plan.missing:
        assert created(shown, "rack:fleet:Rank") == {
            f"{group.name}-{rank.rank}" for group in plan.groups for rank in group.ranks
        }
    assert f"# {name}: " in shown
    assert f"**{plan.standing.label}" in shown
    assert "## Commands" in shown
    outputs = {"commands", "contract", "cost", "evidence", "model", "plan", "snippet"}
    known = {"apiKey", "apiKeys", "caCertificate", "endpoint", "hosts"}
    outputs |= {"missing"} if plan.missing else known | ({"reach"} if plan.access.private else set())
    assert set(re.findall(r"^    (\w+) *: ", shown.partition("Outputs:")[2], re.MULTILINE)) == outputs


def created(shown: str, token: str) -> set[str]:
    return set(re.findall(rf"{token} (\S+) create", shown))


def test_up_of_a_fleet_without_machines_is_refused_in_one_sentence(stack: Callable[[str], Pulumi]) -> None:
    kimi = stack("kimi-k3-gb300")
    shown = kimi.up(code=1)
    [sentence] = {line.partition("error: ")[2] for line in shown.splitlines() if "error: " in line}
    assert sentence.startswith("kimi-k3-gb300: `up` cannot start this fleet yet: ")
    assert "machines.hosts lists none of 2 machines; add tray-0 and tray-1" in sentence
    assert "make lock STACK=kimi-k3-gb300" in sentence
    assert kimi.state() == {}
    assert "rack:fleet" not in shown


def test_a_preview_of_listed_machines_shows_their_claims_and_nothing_is_asked(lab: Pulumi) -> None:
    change_fleet(
        lab.home,
        machines={
            "provider": "baremetal",
            "type": "hgx-h100",
            "identity": "/nonexistent/key",
            "mirror": "http://192.0.2.2",
            "driver": "580.126.20",
            "hosts": [{"name": "big", "address": "192.0.2.1", "host_key": KEY}],
        },
        engine="vllm-0.33.0-cu130",
        fabric="nvlink",
        layout={"tensor_parallel": 8},
        accept_undocumented="a trial",
        access={"operators": ["10.0.0.0/8"]},
    )
    shown = preview(lab)
    assert created(shown, "rack:baremetal:Host") == {"big"}
    assert created(shown, "rack:hosts:Playbook") == {"prepare", "engine", "checkpoint", "access", "serve"}
    assert created(shown, "rack:readiness:Gates") == {"gates"}
    assert created(shown, "rack:readiness:Collectives") == {"collectives"}
    assert "rack:lab" not in shown


def test_a_fleet_that_cannot_work_is_refused_with_a_line_for_each_reason(
    stack: Callable[[str], Pulumi],
) -> None:
    qwen = stack("qwen38-gb300-fp8-pp3")
    change_fleet(
        qwen.home,
        qwen.stack,
        layout={"tensor_parallel": 12},
        env={"VLLM_ATTENTION_BACKEND": "FLASHINFER"},
        workload={
            "context": 2_000_000,
            "concurrency": 8,
            "traffic": "interactive",
            "prefer": "least-hardware",
        },
    )
    shown = preview(qwen, code=1)
    reasons = [line.removeprefix("    error: ").strip() for line in shown.splitlines() if "]" in line]
    for path in ("layout.tensor_parallel", "env.VLLM_ATTENTION_BACKEND", "workload.context"):
        assert any(reason.startswith(f"rackstack:fleet.{path}: ") for reason in reasons), shown
    assert "Traceback" not in shown
    assert "rack:fleet:" not in shown

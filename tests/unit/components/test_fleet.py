"""What a fleet declares, by a recorder in the engine's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pytest
from pulumi.runtime import mocks, set_mocks

from components import cluster, entrance, fleet
from components.machines.declared import Declared
from stacks.planning.budget import ready_within
from tests.factories.hosts import KEY, KEY2, host
from tests.factories.stacks import planned

if TYPE_CHECKING:
    from stacks.planning import FleetPlan

ENVIRONMENT = {"GLOO_SOCKET_IFNAME": "ens1", "NCCL_SOCKET_IFNAME": "=ens1"}

LISTED = {
    "machines.hosts": [
        {"address": f"10.20.0.{end}", "host_key": key} for end, key in ((11, KEY), (12, KEY2))
    ],
    "machines.identity": "~/.ssh/fleet",
}


class Recorder(mocks.Mocks):
    """Keeps what is declared; every resource has the outputs that others wait for."""

    def __init__(self, names: list[str]) -> None:
        self.seen: dict[tuple[str, str], dict[str, Any]] = {}
        self._outputs = {
            "run": "1.1",
            "incarnation": "1",
            "environment": dict.fromkeys(names, ENVIRONMENT),
            "shown": {},
            "facts": {name: {"read": 8e9} for name in names},
            "key": "k",
            "certificate": "PEM",
        }

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        """Keep it."""
        self.seen[args.typ, args.name] = args.inputs
        return args.name, {**args.inputs, **self._outputs}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        """Answer nothing."""
        del args
        return {}, None


def _declared(plan: FleetPlan, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], dict[str, Any]]:
    recorder = Recorder([each.name for each in plan.hosts])
    set_mocks(recorder, preview=False)
    records = {each.name: pulumi.Output.from_input(host(each.name).model_dump()) for each in plan.hosts}
    machines = Declared(records=records, mirror=pulumi.Output.from_input("http://10.0.0.9"))
    monkeypatch.setattr(cluster, "machines", lambda *_: machines)

    @pulumi.runtime.test  # type: ignore[untyped-decorator]  # the SDK has no types for it
    def declare() -> pulumi.Output[Any]:
        made = fleet.Fleet(plan, entrance.given(plan.access))
        return pulumi.Output.from_input(dict(made.results))

    declare()
    return recorder.seen


def test_the_first_completion_is_waited_for_at_half_of_what_the_slowest_host_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = planned("kimi-k3-b200", LISTED)
    seen = _declared(plan, monkeypatch)
    deadline = seen["rack:readiness:Completion", "completion"]["deadline"]
    assert deadline == ready_within(plan.budget, [8e9]) < plan.budget.ready
    books = {name: each["tells"] for (kind, name), each in seen.items() if kind == "rack:hosts:Playbook"}
    assert books == dict.fromkeys(books, False) | {"checkpoint": True}


def test_over_rdma_no_rank_starts_before_the_gates_and_each_gets_its_hosts_own_interface(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = _declared(planned("kimi-k3-b200", LISTED), monkeypatch)
    gates = seen["rack:readiness:Gates", "gates"]
    assert gates["wants"]["fabric"] == "rdma"
    assert gates["after"] == ["1.1"]
    proof = seen["rack:readiness:Collectives", "collectives"]
    assert (proof["after"], proof["seen"]) == (["1.1", "1.1"], {})
    [exchange] = proof["exchanges"]
    assert (exchange["backend"], [each["first"] for each in exchange["members"]]) == ("nccl", [0, 8])
    assert exchange["members"][0]["environment"].items() >= ENVIRONMENT.items()
    for own in seen["rack:hosts:Playbook", "serve"]["host_variables"].values():
        assert own["serve_env"].items() >= ENVIRONMENT.items()


@pytest.mark.parametrize(
    ("stack", "fabric", "own", "other"),
    [
        ("kimi-k3-gb300", "nvlink", {"imex"}, {"fabric_manager", "rdma"}),
        ("kimi-k3-b200", "rdma", {"fabric_manager", "rdma"}, {"imex"}),
    ],
)
def test_a_cluster_is_named_by_its_fabric_and_shows_the_roles_that_go_with_it(
    monkeypatch: pytest.MonkeyPatch, stack: str, fabric: str, own: set[str], other: set[str]
) -> None:
    seen = _declared(planned(stack, LISTED), monkeypatch)
    [(name, shown)] = [(name, each) for (kind, name), each in seen.items() if kind == "rack:fleet:GpuCluster"]
    assert name == fabric
    assert own <= set(shown["roles"])
    assert not other & set(shown["roles"])


def test_the_lab_has_no_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _declared(planned("lab"), monkeypatch)
    assert not {"rack:readiness:Gates", "rack:readiness:Collectives"} & {kind for kind, _ in seen}
    assert ("rack:hosts:Playbook", "serve") in seen

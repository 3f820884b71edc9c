"""The component that composes a fleet: record → machines → host state → proof that it generates."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi

from components import cluster, results
from components.cluster import GpuCluster
from components.fleet_inventory import Inventory
from components.hosts import roles, variables
from components.hosts.playbook import Playbook
from components.planned import PlannedFleet
from components.plugin.resource import Ensured
from components.readiness.completion import Completion
from components.serving.key import ApiKey
from stacks import report
from stacks.errors import ConfigError, PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stacks.planning.plan import FleetPlan

ROOT = Path(__file__).resolve().parent.parent


def fleet_id(stack: str, root: Path) -> str:
    """Return the name of a fleet on shared ground: the stack's, told apart by the checkout it came from."""
    return f"{stack}-{hashlib.sha256(str(root).encode()).hexdigest()[:6]}"


def declare(plan: FleetPlan) -> Mapping[str, Any]:
    """Declare a fleet and return the stack's outputs; a preview tells the whole plan.

    What lacks something that `up` needs is declared in a preview only, as far as it is known.

    Raises:
        ConfigError: The stack has no secret of the name that the plan gives.
        PlanError: Something is missing and this is no preview.
    """
    key = _configured_key(plan.api_key)
    if plan.missing and not pulumi.runtime.is_dry_run():
        raise PlanError([f"{plan.stack}: `up` cannot start this fleet yet: {'; '.join(plan.missing)}"])
    if pulumi.runtime.is_dry_run():
        # The engine shortens long outputs, but no message.
        pulumi.info(report.markdown(plan))
    return (PlannedFleet(plan) if plan.missing else Fleet(plan, key)).results


class Fleet(pulumi.ComponentResource):
    """One fleet, from nothing to a completion.

    Attributes:
        results: The stack's outputs by name.
    """

    def __init__(self, plan: FleetPlan, key: pulumi.Output[str] | None) -> None:
        """Declare everything of a plan; an API key is made where none is given."""
        super().__init__("rack:fleet:Fleet", plan.stack, {}, None)
        self._plan = plan
        self._fleet = fleet_id(plan.stack, ROOT)
        inventory = Ensured(
            Inventory,
            "inventory",
            {"fleet": self._fleet, "provider": plan.provider},
            pulumi.ResourceOptions(parent=self),
        )
        self._below = pulumi.ResourceOptions(parent=self, depends_on=[inventory])
        self._cluster = GpuCluster(plan, self._below)
        self._machines = cluster.machines(plan, self._fleet, self._cluster, inventory)
        self._key = key or Ensured(ApiKey, "api-key", {"fleet": self._fleet}, self._below).out("key")
        self._hosts = [self._machines.records[host.name] for host in plan.hosts]
        self._addresses = pulumi.Output.all(*self._hosts).apply(_addresses)
        self._endpoint = self._addresses.apply(
            lambda addresses: f"http://{addresses[plan.head.host]}:{plan.ports.http}/v1"
        )
        served = self._host_state()
        self._prove(served)
        self.results = self._results()
        self.register_outputs({})

    def _host_state(self) -> Ensured:
        prepare = self._playbook("prepare", [], self._plan.budget.prepare)
        engine = self._playbook("engine", [prepare], self._plan.budget.engine)
        checkpoint = self._playbook("checkpoint", [prepare], self._plan.budget.checkpoint)
        return self._playbook(
            "serve", [engine, checkpoint], self._plan.budget.serve, {"serve_api_key": self._key}
        )

    def _playbook(
        self,
        name: str,
        after: Sequence[Ensured],
        seconds: float,
        secrets: Mapping[str, pulumi.Output[str]] | None = None,
    ) -> Ensured:
        plan = self._plan
        inputs = {
            "fleet": self._fleet,
            "playbook": name,
            "hosts": self._hosts,
            "variables": self._machines.mirror.apply(lambda mirror: variables.variables(plan, name, mirror)),
            "host_variables": self._addresses.apply(
                lambda addresses: variables.host_variables(plan, name, addresses)
            ),
            "secrets": dict(secrets or {}),
            "roles": roles.digests(name),
            "after": [each.out("run") for each in after],
        }
        gone_with_it = pulumi.ResourceOptions(deleted_with=self._cluster)
        return Ensured(
            Playbook, name, inputs, pulumi.ResourceOptions.merge(self._below, gone_with_it), seconds
        )

    def _prove(self, served: Ensured) -> None:
        seconds = self._plan.budget.ready
        inputs = {
            "fleet": self._fleet,
            "endpoint": self._endpoint,
            "model": self._plan.served_name,
            "api_key": self._key,
            "hosts": self._hosts,
            "served": served.out("run"),
            "deadline": seconds,
        }
        Ensured(Completion, "completion", inputs, self._below, seconds)

    def _results(self) -> dict[str, Any]:
        plan = self._plan
        return {
            **results.of_the_plan(plan),
            "endpoint": self._endpoint,
            "apiKey": pulumi.Output.secret(self._key),
            "hosts": self._addresses,
            "commands": self._addresses.apply(lambda addresses: results.commands(plan, addresses)),
            "snippet": self._endpoint.apply(lambda endpoint: report.snippet(plan, endpoint)),
        }


def _configured_key(name: str | None) -> pulumi.Output[str] | None:
    if name is None:
        return None
    key = pulumi.Config().get_secret(name)
    if key is None:
        raise ConfigError(
            [f"api_key: {name}: there is no such secret; run `pulumi config set --secret {name}`"]
        )
    return key


def _addresses(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {record["name"]: record["address"] for record in records}

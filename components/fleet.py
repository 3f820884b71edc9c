"""The component that composes a fleet: record → machines → host state → proof that it generates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components import bundles, cluster, entrance, results
from components.cluster import GpuCluster
from components.entrance import Entrance, Given
from components.fleet_inventory import Inventory
from components.fleet_name import fleet_id
from components.hosts import host_stack, roles, variables
from components.hosts.playbook import Playbook
from components.hosts.variables import Site
from components.planned import PlannedFleet
from components.plugin.resource import Ensured
from components.readiness.completion import Completion
from components.readiness.gates import proof
from components.readiness.gates.kind import SECONDS, Gates
from components.readiness.gates.planned import exchanges, wants
from components.readiness.gates.proof import Collectives
from stacks import report
from stacks.errors import PlanError
from stacks.planning.budget import ready_within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stacks.planning.plan import FleetPlan

ROOT = Path(__file__).resolve().parent.parent
_MEASURES: Final = "checkpoint"
"""The playbook whose facts are used: how fast each host reads."""


def declare(plan: FleetPlan) -> Mapping[str, Any]:
    """Declare a fleet and return the stack's outputs; a preview tells the whole plan.

    What lacks something that `up` needs is declared in a preview only, as far as it is known.

    Raises:
        ConfigError: The stack's configuration lacks a secret that the plan names, or holds one of no use.
        PlanError: Something is missing and this is no preview.
    """
    configured = entrance.given(plan.access)
    if plan.missing and not pulumi.runtime.is_dry_run():
        raise PlanError([f"{plan.stack}: `up` cannot start this fleet yet: {'; '.join(plan.missing)}"])
    if pulumi.runtime.is_dry_run():
        # The engine shortens long outputs, but no message.
        pulumi.info(report.markdown(plan))
    else:
        bundles.remember_plan(fleet_id(plan.stack, ROOT), report.json(plan))
    return (PlannedFleet(plan) if plan.missing else Fleet(plan, configured)).results


class Fleet(pulumi.ComponentResource):
    """One fleet, from nothing to a completion.

    Attributes:
        results: The stack's outputs by name.
    """

    def __init__(self, plan: FleetPlan, configured: Given) -> None:
        """Declare everything of a plan; what its configuration does not give is made."""
        super().__init__("rack:fleet:Fleet", plan.stack, {}, None)
        self._plan = plan
        self._fleet = fleet_id(plan.stack, ROOT)
        inventory = Ensured(
            Inventory,
            "inventory",
            {"fleet": self._fleet, "provider": plan.provider, "hosts": cluster.contacts(plan)},
            pulumi.ResourceOptions(parent=self),
        )
        self._below = pulumi.ResourceOptions(parent=self, depends_on=[inventory])
        self._cluster = GpuCluster(plan, self._below)
        self._machines = cluster.machines(plan, self._fleet, self._cluster, inventory)
        self._hosts = [self._machines.records[host.name] for host in plan.hosts]
        self._addresses = pulumi.Output.all(*self._hosts).apply(_addresses)
        self._gateway = self._machines.records[plan.access.host]
        self._entrance = Entrance(
            plan, self._fleet, configured, self._gateway.apply(lambda record: record["address"]), self._below
        )
        self._gates: list[Ensured] = []
        self._prove(*self._host_state())
        self.results = self._results()
        self.register_outputs({})

    def _host_state(self) -> tuple[Ensured, list[Ensured]]:
        """Declare all playbooks; return the one that tells how fast hosts read, and those of the proof."""
        budget, engine_key = self._plan.budget, self._entrance.engine_key
        prepare = self._playbook("prepare", [], budget.prepare)
        self._gates = self._gated(prepare)
        engine = self._playbook("engine", [prepare], budget.engine)
        checkpoint = self._playbook(_MEASURES, [prepare], budget.checkpoint)
        access = self._playbook("access", [prepare], budget.access, self._entrance.access)
        proved = self._proved(prepare, engine, [checkpoint, access])
        # The door is there first, but a key that is rotated starts no rank again: its run is no input.
        serve = self._playbook(
            "serve",
            [engine, checkpoint],
            budget.serve,
            {"serve_api_key": engine_key},
            behind=[access, *self._gates, *proved],
        )
        return checkpoint, [serve, access]

    def _gated(self, prepare: Ensured) -> list[Ensured]:
        """Declare what holds ranks off a broken fabric; nothing where the plan has none that is known."""
        if not self._plan.gated:
            return []
        inputs = {**self._judged(), "after": [prepare.out("run")]}
        return [Ensured(Gates, "gates", inputs, self._below, SECONDS)]

    def _proved(self, prepare: Ensured, engine: Ensured, behind: Sequence[Ensured]) -> list[Ensured]:
        """Declare that the ranks reach each other, behind the door and with the engine that they will run.

        It ends ranks of which the proof is none, so not before all is there that they are started anew with.
        """
        plan = self._plan
        if not self._gates:
            return []
        inputs = {
            **self._judged(),
            "exchanges": self._known("serve").apply(
                lambda known: [each.model_dump(mode="json") for each in exchanges(plan, *known)]
            ),
            "seen": self._gates[0].out("shown"),
            "after": [prepare.out("run"), engine.out("run")],
        }
        own = pulumi.ResourceOptions(depends_on=list(behind))
        opts = pulumi.ResourceOptions.merge(self._below, own)
        return [Ensured(Collectives, "collectives", inputs, opts, proof.SECONDS)]

    def _judged(self) -> dict[str, Any]:
        """Return what gates and collectives are both told: whose hosts, and what is wanted of them."""
        plan = self._plan
        return {
            "fleet": self._fleet,
            "hosts": self._hosts,
            "wants": self._addresses.apply(lambda addresses: wants(plan, addresses).model_dump(mode="json")),
        }

    def _playbook(
        self,
        name: str,
        after: Sequence[Ensured],
        seconds: float,
        secrets: Mapping[str, pulumi.Output[str]] | None = None,
        behind: Sequence[Ensured] = (),
    ) -> Ensured:
        plan = self._plan
        inputs = {
            "fleet": self._fleet,
            "playbook": name,
            "hosts": self._hosts,
            "variables": self._site(name).apply(lambda site: variables.variables(plan, name, site)),
            "host_variables": self._known(name).apply(
                lambda known: variables.host_variables(plan, name, *known)
            ),
            "secrets": dict(secrets or {}),
            "roles": roles.digests(name, host_stack.unused(plan)),
            "after": [each.out("run") for each in after],
            "tells": name == _MEASURES,
        }
        # What goes with its hosts needs no way back.
        with_hosts = None if self._machines.lasting else self._cluster
        own = pulumi.ResourceOptions(deleted_with=with_hosts, depends_on=list(behind))
        return Ensured(Playbook, name, inputs, pulumi.ResourceOptions.merge(self._below, own), seconds)

    def _known(self, playbook: str) -> pulumi.Output[Sequence[Any]]:
        """Only `serve` waits for what the gates saw of each host."""
        gates = self._gates if playbook == "serve" else []
        return pulumi.Output.all(self._addresses, *(each.out("environment") for each in gates))

    def _site(self, playbook: str) -> pulumi.Output[Site]:
        """Only `access` waits for the certificate, so that a preview shows a new one nowhere else."""
        door = (self._addresses, self._entrance.certificate) if playbook == "access" else ({}, "")
        return pulumi.Output.all(self._machines.mirror, *door).apply(lambda known: Site(*known))

    def _prove(self, checkpoint: Ensured, served: Sequence[Ensured]) -> None:
        budget, names = self._plan.budget, [host.name for host in self._plan.hosts]
        inputs = {
            "fleet": self._fleet,
            "endpoint": self._entrance.url,
            "authority": self._entrance.authority,
            "through": self._gateway if self._plan.access.private else None,
            "model": self._plan.served_name,
            "api_key": self._entrance.key,
            "hosts": self._hosts,
            "served": [each.out("run") for each in served],
            "deadline": checkpoint.out("facts").apply(
                lambda facts: ready_within(budget, [facts.get(name, {}).get("read") for name in names])
            ),
        }
        Ensured(Completion, "completion", inputs, self._below, budget.ready)

    def _results(self) -> dict[str, Any]:
        plan = self._plan
        return {
            **results.of_the_plan(plan),
            **self._entrance.results(self._gateway),
            "hosts": self._addresses,
            "commands": self._known("serve").apply(lambda known: results.commands(plan, *known)),
        }


def _addresses(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {record["name"]: record["address"] for record in records}

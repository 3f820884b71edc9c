"""A fleet while it is being planned: the entries it names, and what was decided so far."""

from typing import Literal

from stacks.catalog.engines import Engine, Lock
from stacks.catalog.hardware import Accelerator, Fabric, Family, Machine
from stacks.catalog.models import Checkpoint, DocumentedLayout, Draft, Model, Profile, StateFormat
from stacks.config import BareMetalMachines, FleetConfig, ListedHost, Parallelism
from stacks.planning.gated import gated
from stacks.planning.reasons import Choice
from stacks.values import Value


class GroupDesign(Value):
    """One engine: a group of ranks that start and stop together.

    Attributes:
        name: serve, or prefill and decode where they are apart.
        parallel: How it splits the model.
        machines: Machines that it spans.
        max_num_seqs: Requests in flight at once; None: the engine's default.
        batched_tokens: Tokens of one step.
        utilization: Share of a GPU's memory that it takes.
        kv_cache: Number format of keys and values.
        state: Number format of the recurrent state; None where the model has none.
        prefix_caching: Whether prefixes are kept.
    """

    name: Literal["serve", "prefill", "decode"]
    parallel: Parallelism
    machines: int
    max_num_seqs: int | None
    batched_tokens: int
    utilization: float
    kv_cache: Literal["bf16", "fp8", "fp32"]
    state: StateFormat | None
    prefix_caching: bool


class Design(Value):
    """A fleet with everything looked up and decided, before it is sized and checked.

    Attributes:
        stack: Name of the stack.
        config: What a person asked for.
        model: The model.
        checkpoint_name: Name of the checkpoint in the model's file.
        checkpoint: The checkpoint.
        draft_name: Name of the draft in the model's file; None: no speculation.
        draft: The draft.
        engine: The engine pin.
        lock: Its lock for these hosts; None where there is none yet.
        machine: The machine type (`lab-host` in the lab).
        family_name: Family of its accelerators.
        family: That family.
        accelerator: The accelerators.
        memory: Memory of one accelerator in bytes (of one host in the lab).
        fabric_name: Name of the fabric.
        fabric: What joins the machines.
        profile: Options of the model on these accelerators; None where the catalog has none.
        documented: The documented layout that this is; None where nobody has written it down.
        count: Number of machines.
        context: Longest request in tokens (`--max-model-len`).
        groups: The engines.
        choices: Every decision, with its reason.
    """

    stack: str
    config: FleetConfig
    model: Model
    checkpoint_name: str
    checkpoint: Checkpoint
    draft_name: str | None
    draft: Draft | None
    engine: Engine
    lock: Lock | None
    machine: Machine
    family_name: str
    family: Family
    accelerator: Accelerator
    memory: int
    fabric_name: str
    fabric: Fabric
    profile: Profile | None
    documented: DocumentedLayout | None
    count: int
    context: int
    groups: tuple[GroupDesign, ...]
    choices: tuple[Choice, ...]

    @property
    def lab(self) -> bool:
        """Return whether the machines are this machine's own lab hosts."""
        return self.config.machines.provider == "lab"

    @property
    def gated(self) -> bool:
        """Return whether gates see what only a host itself can tell, and give it to its rank."""
        return gated(self.fabric.kind, self.family.vendor)

    @property
    def listed(self) -> tuple[ListedHost, ...]:
        """Return the machines that a person lists, in rank order; none in the lab."""
        machines = self.config.machines
        return machines.hosts if isinstance(machines, BareMetalMachines) else ()

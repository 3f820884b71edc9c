"""What will be built: the hand-over from intent (`stacks`) to effects (`components`)."""

from collections.abc import Mapping
from typing import Literal

from stacks.catalog.hardware import NvLinks
from stacks.catalog.models import Endpoint, Experts
from stacks.config import Parallelism
from stacks.planning.gated import gated
from stacks.planning.hosts import Claims, HostStack, PlannedHost
from stacks.planning.reach import AccessPlan
from stacks.planning.reasons import Choice, Option, Standing
from stacks.planning.sized import Cache, GpuMemory
from stacks.planning.spent import Budget, Cost, LoadTime
from stacks.values import Value


class ModelSummary(Value):
    """What the model is.

    Attributes:
        title: What people call it.
        parameters: In all; None where unknown.
        layers: Layers.
        experts: Experts of a mixture; None where it is none.
    """

    title: str
    parameters: int | None
    layers: int
    experts: Experts | None


class OnDisk(Value):
    """What a host holds in a folder of its own, by its exact revision.

    Attributes:
        name: Model and checkpoint (or draft) in the catalog, one path segment.
        revision: The exact revision, one path segment; None where it is not pinned yet.
    """

    name: str
    revision: str | None

    @property
    def home(self) -> str:
        """Return the folder of the verified copy on a host."""
        return f"/var/lib/rackstack/checkpoints/{self.name}/{self.revision or 'revision-not-pinned'}"


class Checkpoint(OnDisk):
    """A checkpoint by revision.

    Attributes:
        label: What people call its number format.
        repository: Where it is published; None for a model that we write ourselves.
        file_bytes: Bytes of all files; None where unknown.
        tensor_bytes: Bytes of all tensors; None where unknown.
        about_bytes: The size as its source rounds it; None where it does not.
        shards: Number of shard files; None where unknown.
        files: Path below the checkpoint → (size in bytes, SHA-256 in hex); empty where not pinned yet.
    """

    label: str
    repository: str | None
    file_bytes: int | None
    tensor_bytes: int | None
    about_bytes: int | None
    shards: int | None
    files: Mapping[str, tuple[int, str]]

    @property
    def stored_bytes(self) -> int | None:
        """Return what is read and stored, as exactly as is known; None where nobody says how much it is."""
        known = (self.file_bytes, self.tensor_bytes, self.about_bytes)
        return next((size for size in known if size is not None), None)


class DraftPin(OnDisk):
    """A draft model; a prediction head inside the checkpoint is none.

    Attributes:
        repository: Where it is published.
        tensor_bytes: Bytes of its tensors; None where unknown.
    """

    repository: str
    tensor_bytes: int | None


class EnginePin(Value):
    """An exact engine.

    Attributes:
        name: Name in the catalog, one path segment.
        release: Version that the installed engine must say it is.
        variant: Which build: cu130, rocm, cpu.
        lock: Hashed lock, as a path below the project's root; None where it is not pinned yet.
        lock_digest: SHA-256 of the lock file in hex; empty where it is not pinned yet.
        driver_floor: Oldest driver that it runs on; None on CPU.
        nccl: Release of NCCL in the lock; None where none is known.
        image: Image that carries the same engine, by digest; None where none is pinned.
        image_unpinned: Why no digest of it is pinned; None where one is, or where there is no image.
    """

    name: str
    release: str
    variant: str
    lock: str | None
    lock_digest: str
    driver_floor: str | None
    nccl: str | None
    image: str | None
    image_unpinned: str | None = None

    @property
    def home(self) -> str:
        """Return the folder of the installed engine on a host; two pins stand side by side."""
        return f"/opt/rackstack/engines/{self.name}-{self.lock_digest[:12] or 'lock-not-pinned'}"


class MissingPin(Value):
    """Something that is documented but not pinned yet: what, and why."""

    what: str
    why: str


class ImagePin(Value):
    """A root file system of lab hosts.

    Attributes:
        name: Name in the catalog, one path segment.
        suite: Suite of the distribution.
        packages: Packages in it.
    """

    name: str
    suite: str
    packages: tuple[str, ...]


class MachineType(Value):
    """What the machines are.

    Attributes:
        name: Name in the catalog.
        title: As the vendor calls it.
        unit: What one is called: tray, node, host.
        accelerator: Name of its accelerators.
        architecture: Their compute capability or gfx name; None where there is none.
        gpus: How many of them; 1 for the cores of a lab host.
        arch: Architecture of its host.
        domain: GPUs in one NVLink or Infinity Fabric domain.
        nvlinks: NVLinks of each GPU; None where nobody documents them.
        vendor: Whose accelerators they are; cpu where there are none.
    """

    name: str
    title: str
    unit: str
    accelerator: str
    architecture: str | None
    gpus: int
    arch: str
    domain: int
    vendor: Literal["nvidia", "amd", "cpu"]
    nvlinks: NvLinks | None = None


class FabricPlan(Value):
    """What joins the machines.

    Attributes:
        name: Name in the catalog.
        title: As people call it.
        kind: nvlink, infinity-fabric, rdma or ethernet.
        pins: What belongs on a host for it, and for this type of machine → release, or unknown.
    """

    name: str
    title: str
    kind: Literal["nvlink", "infinity-fabric", "rdma", "ethernet"]
    pins: Mapping[str, str]


class Ports(Value):
    """The fixed ports of one engine (TCP), outside the ephemeral range.

    Attributes:
        http: OpenAI-compatible API.
        rendezvous: Where the ranks meet, on the head only.
        data_parallel: Where data parallel ranks meet, on the head only.
        side_channel: First port of the cache transfer; None where prefill and decode are not apart.
        internal: First of the ports that the engine picks inside a host; links between hosts are ephemeral.
    """

    http: int
    rendezvous: int
    data_parallel: int
    side_channel: int | None
    internal: int


class Seat(Value):
    """Where one GPU stands in the split: index on its machine, and its place in each dimension."""

    gpu: int
    data: int
    pipeline: int
    tensor: int


class Rank(Value):
    """One engine process tree: everything that one `vllm serve` starts on a machine.

    Attributes:
        rank: Node rank in its group, from 0; rank 0 is the group's head.
        host: Name of the machine that it runs on.
        core: Processor core that it is bound to; lab only.
        serves: Whether it answers HTTP.
        seats: The GPUs that it uses.
    """

    rank: int
    host: str
    core: int
    serves: bool
    seats: tuple[Seat, ...]


class EngineGroup(Value):
    """One engine: ranks that start together and stop together.

    Attributes:
        name: serve, or prefill and decode where they are apart.
        parallel: How it splits the model.
        ranks: Its ranks in order.
        ports: Its fixed ports.
        options: Engine options of all its ranks.
        env: Environment of all its ranks.
        memory: What one GPU holds.
        cache: How the cache is laid out.
        max_num_seqs: Requests in flight at once; None: the engine's default.
    """

    name: str
    parallel: Parallelism
    ranks: tuple[Rank, ...]
    ports: Ports
    options: tuple[Option, ...]
    env: tuple[Option, ...]
    memory: GpuMemory
    cache: Cache
    max_num_seqs: int | None

    @property
    def head(self) -> Rank:
        """Return its first rank."""
        return self.ranks[0]


class FleetPlan(Value):
    """Everything that is decided before the first effect.

    Attributes:
        stack: Name of the stack.
        provider: Machine provider.
        machine: What the machines are.
        fabric: What joins them.
        image: Image of the hosts; lab only.
        hosts: Machines, in rank order.
        groups: Engines.
        engine: The pinned engine.
        model: What the model is.
        checkpoint: The pinned checkpoint.
        draft: The pinned draft model; None where there is none.
        served_name: Model name in the API.
        context: Longest sequence in tokens.
        disk_mib: Disk of engine, checkpoint and draft on each host, in MiB; None where the checkpoint is of
            unknown size.
        not_counted: What load time, disk and deadlines leave out, a clause; empty where that is nothing.
        packages: Distribution packages that the engine needs on every host.
        host_stack: What the machines need below the engine; None where they have no NVIDIA GPUs.
        budget: Deadlines.
        load: How long the weights take to read.
        cost: What it costs.
        access: Who reaches it, and with which keys.
        endpoint: What a client has to know.
        standing: What is known of this layout on these pins.
        choices: Every decision, with reason and alternatives.
        warnings: What a person should know before `up`.
        unpinned: What is documented but not pinned yet.
        missing: What keeps `up` from starting it, one clause each; empty where nothing does.
        claims: What machines of a person's own have in common; None in the lab.
    """

    stack: str
    provider: str
    machine: MachineType
    fabric: FabricPlan
    image: ImagePin | None
    hosts: tuple[PlannedHost, ...]
    groups: tuple[EngineGroup, ...]
    engine: EnginePin
    model: ModelSummary
    checkpoint: Checkpoint
    draft: DraftPin | None
    served_name: str
    context: int
    disk_mib: int | None
    not_counted: str
    packages: tuple[str, ...]
    host_stack: HostStack | None
    budget: Budget
    load: LoadTime
    cost: Cost
    access: AccessPlan
    endpoint: Endpoint
    standing: Standing
    choices: tuple[Choice, ...]
    warnings: tuple[str, ...]
    unpinned: tuple[MissingPin, ...]
    missing: tuple[str, ...]
    claims: Claims | None = None

    @property
    def ranks(self) -> tuple[Rank, ...]:
        """Return the ranks of all engines, group by group."""
        return tuple(rank for group in self.groups for rank in group.ranks)

    @property
    def gated(self) -> bool:
        """Return whether gates see the hosts before a rank starts."""
        return gated(self.fabric.kind, self.machine.vendor)

    @property
    def memory_mib(self) -> int:
        """Return the memory that a host needs, in MiB; 0 on GPUs, where nobody says how much that is."""
        # Hosts are alike; in the lab, where alone their memory is planned, each carries one rank.
        return -(-self.groups[0].memory.needed // 2**20) if self.machine.vendor == "cpu" else 0

    @property
    def head(self) -> Rank:
        """Return the rank that serves the API."""
        return self.groups[0].head

    @property
    def ports(self) -> Ports:
        """Return the ports of the engine that serves the API."""
        return self.groups[0].ports

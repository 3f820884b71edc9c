"""What will be built: the hand-over from intent (`stacks`) to effects (`components`)."""

from collections.abc import Mapping

from stacks.values import Value


class Checkpoint(Value):
    """A checkpoint by revision.

    Attributes:
        name: Name in the catalog, one path segment.
        revision: The exact revision, one path segment.
        files: Path below the checkpoint → (size in bytes, SHA-256 in hex).
    """

    name: str
    revision: str
    files: Mapping[str, tuple[int, str]]

    @property
    def size(self) -> int:
        """Return the size of all files in bytes."""
        return sum(size for size, _ in self.files.values())

    @property
    def home(self) -> str:
        """Return the folder of the verified checkpoint on a host."""
        return f"/var/lib/rackstack/checkpoints/{self.name}/{self.revision}"


class EnginePin(Value):
    """An exact engine.

    Attributes:
        name: Name in the catalog, one path segment.
        release: Version that the installed engine must say it is.
        lock: Hashed lock, as a path below the project's root.
        lock_digest: SHA-256 of the lock file in hex.
    """

    name: str
    release: str
    lock: str
    lock_digest: str

    @property
    def home(self) -> str:
        """Return the folder of the installed engine on a host; two pins stand side by side."""
        return f"/opt/rackstack/engines/{self.name}-{self.lock_digest[:12]}"


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


class PlannedHost(Value):
    """One machine of the fleet.

    Attributes:
        name: Name in the fleet, at most 63 characters.
        cpus: Processor cores it may use.
        memory_mib: Memory it may use, in MiB.
    """

    name: str
    cpus: int
    memory_mib: int


class Memory(Value):
    """What one rank needs, in MiB.

    Attributes:
        weights: Its share of the checkpoint.
        kv_cache: The KV cache that it reserves.
        engine: The engine itself: libraries, workers, the compiler of the first completion.
    """

    weights: int
    kv_cache: int
    engine: int

    @property
    def total(self) -> int:
        """Return the sum in MiB."""
        return self.weights + self.kv_cache + self.engine


class Ports(Value):
    """The fixed ports of a fleet (TCP), outside the ephemeral range.

    Attributes:
        http: OpenAI-compatible API, on the head only.
        rendezvous: Where the ranks meet, on the head only.
        internal: First of the ports that the engine picks inside a host; links between hosts are ephemeral.
    """

    http: int
    rendezvous: int
    internal: int


class Rank(Value):
    """One engine process.

    Attributes:
        rank: Node rank, from 0; rank 0 is the head and serves the API.
        host: Name of the host that it runs on.
        core: Processor core that it is bound to, lab only.
    """

    rank: int
    host: str
    core: int


class Budget(Value):
    """Deadlines in seconds, each derived from bytes and read speed plus a named allowance.

    Attributes:
        prepare: The playbook `prepare`.
        engine: The playbook `engine`.
        checkpoint: The playbook `checkpoint`.
        serve: The playbook `serve`.
        ready: From the start of the ranks to the first completion.
    """

    prepare: float
    engine: float
    checkpoint: float
    serve: float
    ready: float


class FleetPlan(Value):
    """Everything that is decided before the first effect.

    Attributes:
        stack: Name of the stack.
        provider: Machine provider.
        fabric: Fabric between the hosts.
        image: Image of the hosts.
        hosts: Machines, in rank order.
        ranks: Engine processes, in rank order.
        ports: Fixed ports.
        engine: The pinned engine.
        checkpoint: The pinned checkpoint.
        served_name: Model name in the API.
        tensor_parallel: Tensor parallel size.
        context: Longest sequence in tokens.
        kv_cache_gib: Memory of the KV cache per rank in GiB.
        memory: What one rank needs.
        disk_mib: Disk that engine and checkpoint take on each host, in MiB.
        packages: Distribution packages that the engine needs on every host.
        budget: Deadlines.
        api_key: Key of the Pulumi secret that holds the API key; None where one is generated.
        evidence: Who ran this layout, where it is written.
        warnings: What a person should know before `up`.
    """

    stack: str
    provider: str
    fabric: str
    image: ImagePin
    hosts: tuple[PlannedHost, ...]
    ranks: tuple[Rank, ...]
    ports: Ports
    engine: EnginePin
    checkpoint: Checkpoint
    served_name: str
    tensor_parallel: int
    context: int
    kv_cache_gib: int
    memory: Memory
    disk_mib: int
    packages: tuple[str, ...]
    budget: Budget
    api_key: str | None
    evidence: str
    warnings: tuple[str, ...]

    @property
    def head(self) -> Rank:
        """Return the rank that serves the API."""
        return self.ranks[0]

"""Makes the plan, or refuses with every broken rule."""

from stacks.catalog import Catalog, Engine, Model
from stacks.config import FleetConfig
from stacks.errors import PlanError
from stacks.planning.budget import budget
from stacks.planning.memory import kv_cache_gib, mib, rank_memory
from stacks.planning.plan import Checkpoint, EnginePin, FleetPlan, ImagePin, PlannedHost, Ports, Rank
from stacks.planning.rules import broken_rules

# Below the ephemeral range (32768 and up on Linux), so that no outgoing connection can hold one of them.
PORTS = Ports(http=8000, rendezvous=29501, internal=29600)

_LAB_EVIDENCE = (
    "brought up to a completion by Rackstack's own tests (tests/lab), on CPU; nobody else is known to run it"
)
_LAB_WARNING = (
    "this fleet runs on CPU cores of one machine and proves the path, not a speed; "
    "nothing here was run by us on a GPU"
)


def plan(config: FleetConfig, catalog: Catalog, stack: str) -> FleetPlan:
    """Return everything that is decided before the first effect. Pure.

    Raises:
        PlanError: The fleet cannot work; lists every broken rule.
    """
    if faults := list(broken_rules(config, catalog, stack)):
        raise PlanError(faults)
    model, engine = catalog.models[config.model], catalog.engines[config.engine]
    checkpoint = _checkpoint(model)
    hosts = _hosts(config)
    return FleetPlan(
        stack=stack,
        provider=config.machines.provider,
        fabric=config.fabric,
        image=_image(config.machines.image, catalog),
        hosts=hosts,
        # A lab host's cores are cores of this machine: the ranks share none as long as there are enough.
        ranks=tuple(Rank(rank=i, host=host.name, core=i * host.cpus) for i, host in enumerate(hosts)),
        ports=PORTS,
        engine=_pin(engine),
        checkpoint=checkpoint,
        served_name=model.facts.served_name,
        tensor_parallel=config.layout.tensor_parallel,
        context=config.context,
        kv_cache_gib=kv_cache_gib(config, model),
        memory=rank_memory(config, model, engine),
        disk_mib=engine.facts.disk_mib + mib(checkpoint.size),
        packages=tuple(engine.facts.packages),
        budget=budget(checkpoint.size, engine),
        api_key=config.api_key,
        evidence=_LAB_EVIDENCE,
        warnings=(_LAB_WARNING,),
    )


def _hosts(config: FleetConfig) -> tuple[PlannedHost, ...]:
    machines = config.machines
    return tuple(
        PlannedHost(name=f"host-{i}", cpus=machines.cpus, memory_mib=machines.memory_gib * 1024)
        for i in range(machines.hosts)
    )


def _checkpoint(model: Model) -> Checkpoint:
    files = {path: (file.size, file.sha256) for path, file in model.checkpoint.files.items()}
    return Checkpoint(name=model.name, revision=model.checkpoint.revision, files=files)


def _image(name: str, catalog: Catalog) -> ImagePin:
    image = catalog.images[name]
    return ImagePin(name=name, suite=image.suite, packages=image.packages)


def _pin(engine: Engine) -> EnginePin:
    return EnginePin(
        name=engine.name, release=engine.facts.release, lock=engine.lock, lock_digest=engine.lock_digest
    )

"""Plans made by hand, for reports of fleets in every shape; no figure in them means anything."""

from collections.abc import Sequence

from stacks.catalog.models import Endpoint, Evidence, Experts, Published
from stacks.config import Parallelism
from stacks.planning.hosts import PlannedHost
from stacks.planning.plan import (
    Checkpoint,
    EngineGroup,
    EnginePin,
    FabricPlan,
    FleetPlan,
    MachineType,
    MissingPin,
    ModelSummary,
    Ports,
    Rank,
    Seat,
)
from stacks.planning.reach import AccessPlan, Limits, PlannedKey, Route
from stacks.planning.reasons import Alternative, Choice, Option, Standing
from stacks.planning.sized import Cache, GpuMemory, Part, Range, Requests
from stacks.planning.spent import Budget, Cost, LoadTime

TRAY = MachineType(
    name="tray-4",
    title="Tray of four",
    unit="tray",
    accelerator="gpu4",
    architecture="sm_4",
    gpus=4,
    arch="aarch64",
    domain=72,
    vendor="nvidia",
)
NODE = MachineType(
    name="node-8",
    title="Node of eight",
    unit="node",
    accelerator="gpu8",
    architecture=None,
    gpus=8,
    arch="x86_64",
    domain=8,
    vendor="nvidia",
)
NVLINK = FabricPlan(name="nvlink", title="NVLink", kind="nvlink", pins={"IMEX": "unknown"})
RDMA = FabricPlan(name="rdma", title="RDMA", kind="rdma", pins={})


def fleet(machine: MachineType, fabric: FabricPlan, groups: Sequence[EngineGroup]) -> FleetPlan:
    """Return a plan of these engines, one after another on machines of one type."""
    names = [rank.host for each in groups for rank in each.ranks]
    spans = machine.domain > machine.gpus
    return FleetPlan(
        stack="made-up",
        provider="baremetal",
        machine=machine,
        fabric=fabric,
        image=None,
        hosts=tuple(
            PlannedHost(name=name, domain=i * machine.gpus // machine.domain if spans else i)
            for i, name in enumerate(names)
        ),
        groups=tuple(groups),
        engine=_ENGINE,
        model=_MODEL,
        checkpoint=_CHECKPOINT,
        draft=None,
        served_name="someone/Some-Model",
        context=32768,
        disk_mib=1_500_000,
        not_counted="",
        packages=("gcc",),
        host_stack=None,
        budget=Budget(
            prepare=60,
            access=60,
            engine=600,
            checkpoint=900,
            serve=120,
            ready=3600,
            start=600,
            read=50 * 2**20,
        ),
        load=LoadTime(low=97.5, high=195.1, assumes="each machine reads 8 GB/s"),
        cost=Cost(
            gpus=8,
            currency="USD",
            per_hour=52.0,
            per_evaluation=None,
            per_reservation=None,
            source="offer 1, 2026-11-30",
            assumes="how long one takes is not given",
        ),
        access=_ACCESS,
        endpoint=_ENDPOINT,
        standing=_STANDING,
        choices=(_CHOICE,),
        warnings=("this plan is made up",),
        unpinned=(MissingPin(what="revision of the draft", why="nobody has written it down"),),
        missing=("no machine is listed",),
    )


def engine(
    machine: MachineType, parallel: Parallelism, *, name: str = "serve", first: int = 0
) -> EngineGroup:
    """Return an engine on as many machines as it fills, from machine `first` on."""
    tensor, stages, gpus = parallel.tensor_parallel, parallel.pipeline_parallel, machine.gpus
    ranks = []
    for rank in range(-(-parallel.gpus // gpus)):
        places = range(rank * gpus, min((rank + 1) * gpus, parallel.gpus))
        seats = tuple(
            Seat(gpu=i, data=at // (tensor * stages), pipeline=at // tensor % stages, tensor=at % tensor)
            for i, at in enumerate(places)
        )
        host = f"{machine.unit}-{first + rank}"
        ranks.append(Rank(rank=rank, host=host, core=0, serves=rank == 0, seats=seats))
    return EngineGroup(
        name=name,
        parallel=parallel,
        ranks=tuple(ranks),
        ports=Ports(
            http=8000,
            rendezvous=29501,
            data_parallel=29550,
            side_channel=None if name == "serve" else 5600,
            internal=29600,
        ),
        options=(_option("max-model-len", 32768), _option("enable-prefix-caching", value=True)),
        env=(_option("NCCL_CUMEM_ENABLE", "1"),),
        memory=_MEMORY,
        cache=_CACHE,
        max_num_seqs=32,
    )


def _option(name: str, value: bool | int | str) -> Option:  # noqa: FBT001 - the value of a switch
    return Option(name=name, value=value, why=f"{name} is asked for", source="made up", origin="planner")


_ENGINE = EnginePin(
    name="engine-1.2.3",
    release="1.2.3",
    variant="cu130",
    lock="stacks/catalog/locks/engine-1.2.3.lock",
    lock_digest="ab" * 32,
    driver_floor="580",
    nccl="2.28.9",
    image=None,
)
_MODEL = ModelSummary(
    title="Some Model",
    parameters=2_779_931_837_184,
    layers=93,
    experts=Experts(routed=896, active=16, shared=2),
)
_CHECKPOINT = Checkpoint(
    name="some-model-fp4",
    label="FP4",
    repository="someone/Some-Model",
    revision="9f62e4e9fffbd0a83ddd60e1c209d828994b3569",
    file_bytes=1_560_936_091_448,
    tensor_bytes=1_560_860_324_864,
    about_bytes=None,
    shards=96,
    files={},
)
_ACCESS = AccessPlan(
    host="tray-0",
    port=8443,
    tls="own-ca",
    certificate=None,
    certificate_key=None,
    name=None,
    sources=(),
    metrics=(),
    operators=("10.0.0.1/32",),
    keys=(PlannedKey(name="default", secret=None, serial=1),),
    routes=(Route(method="POST", path="/v1/chat/completions"), Route(method="GET", path="/health")),
    limits=Limits(body_mib=64, idle=600, total=1200),
)
_ENDPOINT = Endpoint(
    source="made up",
    reasoning_parser="some_parser",
    tool_parser="some_tools",
    efforts=("high", "low"),
    preserved_thinking=True,
    sampling={"temperature": 1.0, "top_k": 20},
    timeout=3600,
    max_tokens=16384,
)
_STANDING = Standing(
    label="documented on other versions",
    sentence="documented on other versions: somebody ran it on engine 1.2.0; moved since: engine 1.2.3 here",
    evidence=(
        Evidence(
            who="somebody",
            source="made up",
            date="2026-08-21",
            engine="vllm",
            release="1.2.0",
            says="it answers",
            published=(Published(figure="111 tok/s", conditions="batch 1"),),
        ),
    ),
)
_CHOICE = Choice(
    what="layout",
    value="TP8",
    why="it needs the fewest machines",
    source="made up",
    cost="4 GPUs more than the planner's own",
    alternatives=(Alternative(value="TP16", why_not="twice the machines"),),
)
_MEMORY = GpuMemory(
    capacity=288_000_000_000,
    usable=273_600_000_000,
    parts=(
        Part(
            name="weights",
            size=Range(low=195_107_540_608, high=196_000_000_000),
            why="bytes of all tensors, shared out",
            source="made up",
        ),
        Part(name="NCCL", size=Range(low=None, high=4_000_000_000), why="buffers", source="assumption"),
    ),
    pool=Range(low=60_000_000_000, high=78_000_000_000),
)
_CACHE = Cache(
    kv_cache="fp8",
    state="float32",
    prefix_caching=True,
    block_tokens=1536,
    page=884_736,
    state_bytes=814_080,
    group_layers=24,
    groups=4,
    block_bytes=21_233_664,
    state_blocks=6,
    blocks=Range(low=2825, high=3673),
    tokens=Range(low=3_000_000, high=4_100_000),
    requests=(
        Requests(tokens=32768, blocks=28, size=594_542_592, low=100.9, high=131.2),
        Requests(tokens=8192, blocks=12, size=254_803_968, low=None, high=306.1),
    ),
    notes=("the reserve of the CUDA graphs is not exact",),
)

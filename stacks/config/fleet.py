"""The shape of `rackstack:fleet`; descriptions and examples also feed the schema and the fault sentences."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from stacks.config.access import Access
from stacks.config.machines import MOST, BareMetalMachines, Count, LabMachines
from stacks.config.quantities import Day, Duration
from stacks.values import Value

Tokens = Annotated[int, Field(ge=1, le=10**8)]
Requests = Annotated[int, Field(ge=1, le=10**6)]
Scalar = bool | int | Annotated[float, Field(allow_inf_nan=False)] | str
Setting = Scalar | list[Scalar] | dict[str, Scalar | list[Scalar] | dict[str, Scalar]]
"""The value of an engine option: false is the `--no-` form, a mapping is written as JSON."""

Reason = Annotated[str, Field(pattern=r"\S")]
"""A text for people, in their words, which may look like placeholders."""

Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9-]*$",
        description="an engine option without its leading dashes, in lower case, such as max-num-seqs",
    ),
]
Variable = Annotated[
    str,
    Field(
        pattern=r"^[A-Z][A-Z0-9_]*$",
        description="an environment variable in capital letters, such as NCCL_DEBUG",
    ),
]


class Parallelism(Value):
    """How one engine splits the model over its GPUs."""

    tensor_parallel: Count = Field(default=1, description="ranks that hold each layer together", examples=[8])
    pipeline_parallel: Count = Field(default=1, description="stages of layers", examples=[2])
    data_parallel: Count = Field(default=1, description="ranks with requests of their own", examples=[4])
    expert_parallel: bool = Field(
        default=False, description="whether whole experts are spread over the ranks", examples=[True]
    )
    decode_context_parallel: Count = Field(
        default=1, description="ranks of a tensor parallel group that share out the KV cache", examples=[8]
    )

    @property
    def gpus(self) -> int:
        """Return the number of GPUs."""
        return self.tensor_parallel * self.pipeline_parallel * self.data_parallel

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        split = f"{self.tensor_parallel} x {self.pipeline_parallel} x {self.data_parallel}"
        _few_enough(self.gpus, f"tensor x pipeline x data parallel is {split}")
        return self


class Disaggregated(Value):
    """Prefill and decode by engines of their own."""

    prefill: Parallelism = Field(description="the engine that reads prompts")
    decode: Parallelism = Field(description="the engine that writes answers")

    @property
    def gpus(self) -> int:
        """Return the number of GPUs of both."""
        return self.prefill.gpus + self.decode.gpus

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        _few_enough(self.gpus, f"prefill and decode are {self.prefill.gpus} + {self.decode.gpus}")
        return self


def _few_enough(gpus: int, sum_of: str) -> None:
    if gpus > MOST:
        raise ValueError(f"{sum_of} = {gpus} GPUs, too many to be meant; they must be at most {MOST} in all")


def _form(layout: object) -> str:
    apart = isinstance(layout, Disaggregated) or (
        isinstance(layout, dict) and {"prefill", "decode"} & set(layout)
    )
    return "disaggregated" if apart else "together"


Layout = Annotated[
    Annotated[Parallelism, Tag("together")] | Annotated[Disaggregated, Tag("disaggregated")],
    Discriminator(_form),
]


class Workload(Value):
    """The four questions to answer before machines are rented."""

    context: Tokens = Field(description="longest request, prompt and answer, in tokens", examples=[32768])
    concurrency: Requests = Field(description="requests in flight at once", examples=[32])
    traffic: Literal["interactive", "batch"] = Field(
        description="whether somebody waits for each answer", examples=["interactive"]
    )
    prefer: Literal["least-hardware", "cost-per-token"] = Field(
        description="what decides between layouts that work", examples=["least-hardware"]
    )
    long_context: bool = Field(
        default=False,
        description="whether a context past the model's default is really wanted",
        examples=[True],
    )


class Price(Value):
    """What the machines cost, and who says so."""

    per_gpu_hour: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = Field(
        description="price of one GPU for one hour", examples=[6.5]
    )
    currency: str = Field(pattern=r"^[A-Z]{3}$", description="three capital letters", examples=["USD"])
    source: Reason = Field(description="who says so", examples=["offer 4711"])
    date: Day = Field(description="the day of the offer", examples=["2026-11-30"])


class Run(Value):
    """How long the fleet is needed."""

    evaluation: Duration | None = Field(
        default=None, description="how long one evaluation takes", examples=["6 h"]
    )
    reserved: Duration | None = Field(
        default=None, description="how long the machines are reserved", examples=["24 h"]
    )


class FleetConfig(Value):
    """One fleet, as a person asks for it."""

    machines: Annotated[LabMachines | BareMetalMachines, Field(discriminator="provider")] = Field(
        description="the machines of the fleet"
    )
    fabric: str = Field(
        description="what connects the machines, a file in stacks/catalog/fabrics", examples=["nvlink"]
    )
    model: str = Field(description="model, a file in stacks/catalog/models", examples=["kimi-k3"])
    checkpoint: str | None = Field(
        default=None,
        description="one of the model's checkpoints; without it the one documented for the machines",
        examples=["mxfp4"],
    )
    engine: str = Field(
        description="engine pin, a file in stacks/catalog/engines", examples=["vllm-0.33.0-cu130"]
    )
    layout: Layout | None = Field(
        default=None,
        description="how the model is split over the machines; without it a documented one is chosen",
    )
    workload: Workload = Field(description="what the fleet is for")
    speculation: str | None = Field(
        default=None,
        description="one of the model's drafts, or none; without it the workload decides",
        examples=["none"],
    )
    flags: Mapping[Name, Setting] = Field(
        default={}, description="engine options set by hand; they win", examples=[{"max-num-seqs": 64}]
    )
    env: Mapping[Variable, str] = Field(
        default={},
        description="environment of the ranks set by hand; it wins",
        examples=[{"NCCL_DEBUG": "INFO"}],
    )
    fp8_kv_confirmed_on: str | None = Field(
        default=None,
        description="the engine pin on which somebody has seen an FP8 KV cache work on these GPUs",
        examples=["vllm-0.33.0-rocm"],
    )
    accept_undocumented: Reason | None = Field(
        default=None,
        description="why a layout that nobody has documented is wanted all the same",
        examples=["a trial of our own"],
    )
    price: Price | None = Field(default=None, description="what the machines cost")
    run: Run = Field(default=Run(), description="how long the fleet is needed")
    access: Access = Field(
        default=Access(), repr=False, description="who reaches the fleet, and with which keys"
    )

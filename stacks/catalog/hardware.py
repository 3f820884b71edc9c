"""Accelerators, the machines they come in, and the fabrics between those."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from stacks.catalog.figures import Count, Options, Release, Source, Sources, Unknown
from stacks.values import Value

Format = Literal["fp32", "bf16", "fp8", "mxfp4", "nvfp4"]
Arch = Literal["x86_64", "aarch64"]
Joins = Literal["nvlink", "infinity-fabric", "rdma", "ethernet"]


class NvLinks(Value):
    """The NVLinks of one GPU.

    Attributes:
        count: How many it has.
        rate: Of each, in GB/s, as `nvidia-smi nvlink -s` says it.
    """

    count: Count
    rate: float


class Accelerator(Value):
    """One accelerator.

    Attributes:
        memory_bytes: Nominal memory of one; 0 where it is the host's own (CPU).
        formats: Number formats of weights that it executes natively.
        emulated: Format → how an engine runs it all the same, at a price.
        driver_floor: Oldest driver branch that serves.
        architecture: Compute capability or gfx name.
        nvlinks: Its NVLinks; unknown where nobody documents them, or it has none.
        source: Where the figures stand.
    """

    memory_bytes: int
    formats: tuple[Format, ...]
    emulated: Mapping[Format, str] = {}
    driver_floor: Release | Unknown
    architecture: str
    nvlinks: NvLinks | Unknown = "unknown"
    source: Source


class Family(Value):
    """A family of accelerators (`accelerators/<family>.yaml`) by name of the member.

    Attributes:
        vendor: Whose; decides the tool chain.
        flags: Engine options of every model on this family.
        env: Environment of every model on this family.
    """

    sources: Sources
    vendor: Literal["nvidia", "amd", "cpu"]
    members: Mapping[str, Accelerator]
    flags: Options = Field(default={})
    env: Options = Field(default={})


class Machine(Value):
    """A machine type (`machines/<type>.yaml`).

    Attributes:
        title: As its vendor calls it.
        unit: What one machine is called: tray, node.
        accelerator: Name of its accelerators.
        gpus: How many of them it has.
        arch: Architecture of its host.
        domain: GPUs in one NVLink or Infinity Fabric domain, over as many machines as that takes.
        fabrics: Fabrics that can join several of them.
        pins: What belongs on its host beside the driver (IMEX, Fabric Manager) → release, or unknown.
        settings: Key of sysctl → value that its vendor documents.
        kernel_arguments: Argument of the kernel → value likewise.
    """

    sources: Sources
    title: str
    unit: Literal["tray", "node", "host"]
    accelerator: str
    gpus: Count
    arch: Arch
    domain: Count
    fabrics: tuple[str, ...]
    pins: Mapping[str, str] = {}
    settings: Options = Field(default={})
    kernel_arguments: Options = Field(default={})
    source: Source


class Fabric(Value):
    """What joins the GPUs of a fleet (`fabrics/<name>.yaml`).

    Attributes:
        title: As people call it.
        kind: nvlink and infinity-fabric join GPUs by memory; rdma and ethernet are networks between machines.
        all_to_all: All-to-all backend of the engine → why it works here.
        refused: Value of an engine option that cannot work here (`all2all-backend=deepep_v2`) → why.
        flags: Engine options of every model whose ranks are joined by it across machines.
        env: Environment likewise.
        tensor_flags: Engine options where a tensor parallel group itself spans machines.
        tensor_env: Environment likewise.
        pins: What belongs to it on any host (OFED) → release, or unknown.
    """

    sources: Sources
    title: str
    kind: Joins
    all_to_all: Mapping[str, str] = {}
    refused: Mapping[str, str] = {}
    flags: Options = Field(default={})
    env: Options = Field(default={})
    tensor_flags: Options = Field(default={})
    tensor_env: Options = Field(default={})
    pins: Mapping[str, str] = {}

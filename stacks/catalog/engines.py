"""Engine pins: an exact release or commit, with its hashed locks."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from stacks.catalog.figures import Commit, Count, Options, Release, Source, Sources, Unpinned
from stacks.catalog.hardware import Arch
from stacks.values import Value


class Reserve(Value):
    """Memory of a GPU (or of a CPU rank) that is neither weights nor cache, in MiB.

    Attributes:
        low: Least that is seen.
        high: Most that is seen.
        why: What it is for.
        source: Who measured it; `assumption` where nobody did.
    """

    low: int = Field(ge=0, description="MiB")
    high: int = Field(ge=0, description="MiB")
    why: str
    source: Source


class LockFile(Value):
    """One hashed lock.

    Attributes:
        lock: Path below the catalog, or why there is none.
        platform: Machine and glibc of its wheels.
    """

    lock: str | Unpinned
    platform: str = Field(
        pattern=r"^[a-z0-9_]+-manylinux_2_[0-9]+$",
        description="a machine and the glibc of its wheels, such as x86_64-manylinux_2_28",
    )


class Image(Value):
    """A container image that carries the same engine."""

    repository: str
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | Unpinned


class EngineFacts(Value):
    """What `engines/<name>.yaml` says of an engine pin.

    Attributes:
        release: Version that the installed engine says it is.
        commit: Commit of the engine's main branch, where the pin is no release.
        variant: Which build: of CUDA, ROCm or the CPU.
        families: Accelerator families that the build serves.
        python: Python version of the locks, `3.12`.
        locks: Architecture of the host → lock.
        image: The image with the same engine; None where there is none.
        driver_floor: Oldest driver that the build runs on; None on CPU.
        packages: Distribution package that a host needs → why.
        reserves: Memory of one GPU beside weights and cache, by what takes it.
        disk_mib: Disk of the installed engine in MiB.
        utilization: Share of a GPU's memory that the engine takes by default (`--gpu-memory-utilization`).
        batched_tokens: Default of `--max-num-batched-tokens`.
        batched_tokens_on: Accelerator → that default there, where it is another one.
        variables: File below the catalog with the names of all variables that it reads; None: not checked.
        options: File below the catalog with every long option of its command; None: not checked.
        renamed: Variable of older engines → what to write instead.
        flags: Options of every command.
        env: Variables of every rank.
    """

    sources: Sources
    release: Release
    commit: Commit | None = None
    variant: Literal["cu130", "rocm", "cpu"]
    families: tuple[str, ...]
    python: str = Field(pattern=r"^3\.[0-9]+$", description="a Python version such as 3.12, in quotes")
    locks: Mapping[Arch, LockFile]
    image: Image | None = None
    driver_floor: Release | None = None
    packages: Mapping[str, str]
    reserves: Mapping[str, Reserve]
    disk_mib: Count
    utilization: float
    batched_tokens: Count
    batched_tokens_on: Mapping[str, Count] = {}
    variables: str | None = None
    options: str | None = None
    renamed: Mapping[str, str] = {}
    flags: Options = Field(default={})
    env: Options = Field(default={})
    source: Source

    def default_step(self, accelerator: str) -> int:
        """Return the default of `--max-num-batched-tokens` on an accelerator."""
        return self.batched_tokens_on.get(accelerator, self.batched_tokens)


class Lock(Value):
    """A lock that was read.

    Attributes:
        path: Path below the project's root.
        digest: SHA-256 of the file in hex.
        packages: Package → release.
    """

    path: str
    digest: str
    packages: Mapping[str, str]


class Engine(Value):
    """An engine pin of the catalog.

    Attributes:
        name: Name in the catalog, one path segment.
        facts: What its file says.
        locks: Architecture → lock, or why there is none.
        variables: Names of the VLLM_ variables that it reads; empty: not checked.
        options: Long options of its command, without dashes, every spelling; empty: not checked.
        choices: Option or variable → the only values that it takes, where it does not take any.
    """

    name: str
    facts: EngineFacts
    locks: Mapping[Arch, Lock | Unpinned]
    variables: frozenset[str]
    options: frozenset[str] = frozenset()
    choices: Mapping[str, tuple[str, ...]] = {}

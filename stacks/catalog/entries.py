"""The entries of the catalog."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from stacks.values import Value

Count = Annotated[int, Field(ge=1, description="a positive whole number")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="a SHA-256 in hex")]
Segment = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="one path segment")]


class ManifestFile(Value):
    """One file of a checkpoint: its size in bytes and its SHA-256."""

    size: int = Field(ge=0, description="the size in bytes")
    sha256: Digest


class Manifest(Value):
    """A checkpoint: its exact revision and every file (path below the checkpoint → size and hash)."""

    revision: Segment
    files: Mapping[str, ManifestFile]


class ModelFacts(Value):
    """What `models.yaml` says of a model: its shape, as in the checkpoint's own configuration.

    Attributes:
        served_name: Model name in the API.
        manifest: Manifest of the checkpoint, a path below the catalog.
        dtype: Number format of weights and KV cache.
        max_positions: Longest sequence, in tokens, that the model has positions for.
    """

    served_name: str
    manifest: str
    dtype: Literal["bfloat16", "float16", "float32"]
    layers: Count
    attention_heads: Count
    kv_heads: Count
    head_dim: Count
    max_positions: Count

    @property
    def element_bytes(self) -> int:
        """Return the size of one number in bytes."""
        return 4 if self.dtype == "float32" else 2


class Model(Value):
    """A model of the catalog with its checkpoint."""

    name: str
    facts: ModelFacts
    checkpoint: Manifest


class EngineFacts(Value):
    """What `engines.yaml` says of an engine pin.

    Attributes:
        release: Version that the installed engine says it is.
        python: Python version of the lock, `3.11`.
        lock: Hashed lock, a path below the catalog.
        platform: Wheel platform of the lock.
        packages: Distribution package that a host needs → why.
        memory_mib: Memory of one rank beside weights and KV cache, in MiB.
        disk_mib: Disk of the installed engine in MiB.
    """

    release: Segment
    python: str = Field(pattern=r"^3\.[0-9]+$", description="a Python version such as 3.11, in quotes")
    lock: str
    platform: str = Field(
        pattern=r"^[a-z0-9_]+-manylinux_2_[0-9]+$",
        description="a machine and the glibc of its wheels, such as x86_64-manylinux_2_28",
    )
    packages: Mapping[str, str]
    memory_mib: Count
    disk_mib: Count


class Engine(Value):
    """An engine pin of the catalog; `lock` is a path below the project's root."""

    name: str
    facts: EngineFacts
    lock: str
    lock_digest: str


class Image(Value):
    """Root file system of lab hosts: a distribution's suite and the packages in it."""

    suite: str
    packages: tuple[str, ...]


class Catalog(Value):
    """All that is known, by name."""

    models: Mapping[str, Model]
    engines: Mapping[str, Engine]
    images: Mapping[str, Image]

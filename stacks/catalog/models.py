"""Models: shape, checkpoints, drafts, profiles, documented layouts and the contract of the endpoint."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from stacks.catalog.figures import (
    ApiPath,
    Count,
    Digest,
    Options,
    Release,
    Segment,
    Source,
    Sources,
    Unknown,
    Unpinned,
)
from stacks.catalog.hardware import Format
from stacks.config import Layout
from stacks.values import Value

StateFormat = Literal["float32", "bfloat16", "float16"]
"""Number format of a recurrent state, as `--mamba-ssm-cache-dtype` calls it."""


class ManifestFile(Value):
    """One file of a checkpoint: its size in bytes and its SHA-256."""

    size: int = Field(ge=0, description="the size in bytes")
    sha256: Digest


class Manifest(Value):
    """A checkpoint: its exact revision and every file (path below the checkpoint → size and hash)."""

    revision: Segment
    files: Mapping[str, ManifestFile]


class Attention(Value):
    """The layers with a cache that grows with the sequence.

    Attributes:
        kind: mla keeps one latent per token, the same on every rank; gqa keys and values per head.
        layers: How many.
        heads: Query heads; tensor parallel divides them.
        kv_heads: Heads of the cache (1 for mla).
        width: Elements per head and token: head_dim for gqa, latent and rope together for mla.
    """

    kind: Literal["mla", "gqa"]
    layers: Count
    heads: Count
    kv_heads: Count
    width: Count


class Recurrent(Value):
    """The layers with a state of constant size.

    Attributes:
        kind: kda (Kimi Delta Attention) or gdn (Gated DeltaNet).
        layers: How many.
        key_heads: Heads of the keys.
        value_heads: Heads of the values, and of the state.
        key_dim: Width of a key.
        value_dim: Width of a value.
        conv_kernel: Taps of the short convolution.
        state: Number format of the recurrent state.
        state_choices: Number formats that the engine accepts for it.
    """

    kind: Literal["kda", "gdn"]
    layers: Count
    key_heads: Count
    value_heads: Count
    key_dim: Count
    value_dim: Count
    conv_kernel: Count
    state: StateFormat
    state_choices: tuple[StateFormat, ...]


class Experts(Value):
    """Experts of a mixture: routed, active for each token, shared."""

    routed: Count
    active: Count
    shared: int


class Shape(Value):
    """The model as its own configuration describes it; parameters in all."""

    source: Source
    layers: Count
    hidden: Count
    vocabulary: Count
    parameters: Count | Unknown
    attention: Attention
    recurrent: Recurrent | None = None
    experts: Experts | None = None


class Context(Value):
    """How long a sequence may be, in tokens.

    Attributes:
        native: Positions in the model's configuration.
        default: Most that a stack gets without `long_context: true`.
        longest: Most with it.
        flags: Engine options that a context past `native` needs; env: likewise.
    """

    source: Source
    native: Count
    default: Count
    longest: Count
    flags: Options = Field(default={})
    env: Options = Field(default={})


class Retention(Value):
    """How many tokens lie between kept states of a cached prefix (`--prefix-cache-retention-interval`).

    Attributes:
        multiple_of: The interval is 0 or a multiple of it.
    """

    source: Source
    multiple_of: Count


class CheckpointFacts(Value):
    """One checkpoint of a model.

    Attributes:
        repository: Where it is published; None for a model that we write ourselves.
        revision: Exact revision, or why it is not pinned.
        format: Number format of the bulk of the weights.
        label: What people call the format (`MXFP4`, `Quark MXFP4`).
        tensor_bytes: Bytes of all tensors (what GPUs hold).
        about_bytes: The size as a source rounds it, where the exact one is unknown.
        file_bytes: Bytes of all shard files (what is read and stored).
        shards: Number of shard files.
        routed_bytes: Bytes of the routed experts alone, those of a prediction head among them.
        head_bytes: Bytes of the routed experts of the prediction head, which the engine leaves in the files
            where nothing speculates; 0 for a checkpoint without a head.
        manifest: Sizes and hashes of all files (a path below the catalog), or why there are none.
        flags: Engine options of this checkpoint.
        env: Environment likewise.
        warning: What a person should know of it.
    """

    source: Source
    repository: str | None
    revision: Segment | Unpinned
    format: Format
    label: str
    tensor_bytes: Count | Unknown
    about_bytes: Count | None = None
    file_bytes: Count | Unknown
    shards: Count | Unknown
    routed_bytes: int | Unknown
    head_bytes: int | Unknown = 0
    manifest: str | Unpinned
    flags: Options = Field(default={})
    env: Options = Field(default={})
    warning: str | None = None


class Draft(Value):
    """How the model speculates: a draft model, or its own prediction head.

    Attributes:
        method: The engine's name of it.
        tokens: Tokens proposed at a time.
        repository: Repository of a draft model; None for a head in the checkpoint.
        revision: Its revision, or why it is not pinned; None for a head in the checkpoint.
        manifest: Sizes and hashes of all files (a path below the catalog), or why there are none.
        tensor_bytes: Its weights; 0 for a head in the checkpoint.
        attention_layers: Its layers with a cache.
        shares_groups: Whether those layers join the target's cache groups.
        settings: More keys of `--speculative-config`.
        on_family: Accelerator family → keys of `settings` that are others there.
        pays_up_to: Requests in flight up to which somebody has it on; None: nobody gives a limit.
        why: When it pays.
        loses: When it does not; empty where nothing is known.
        share: Accelerator family → `--gpu-memory-utilization` that somebody documents beside it.
        refused: Why no stack may use it; None where one may.
    """

    source: Source
    method: Literal["dspark", "mtp"]
    tokens: Count
    repository: str | None = None
    revision: Segment | Unpinned | None = None
    manifest: str | Unpinned | None = None
    tensor_bytes: int | Unknown
    attention_layers: int | Unknown
    shares_groups: bool = False
    settings: Mapping[str, str | int | bool] = {}
    on_family: Mapping[str, Mapping[str, str | int | bool]] = {}
    pays_up_to: Count | None = None
    share: Options = Field(default={})
    why: str
    loses: str = ""
    refused: str | None = None


class Speculation(Value):
    """Which draft each kind of traffic gets: a name of `drafts`, or none; and why the others not."""

    source: Source
    interactive: str
    batch: str
    why: str


class Profile(Value):
    """Options of this model on one family of accelerators, for a range of engine releases.

    Attributes:
        family: The family.
        since: First engine release that it holds for.
        before: First engine release that it does not hold for any more; None: none is known.
        utilization: `--gpu-memory-utilization`; None: the engine's default.
        kv_cache: `--kv-cache-dtype`; None: the engine's default (the model's own type).
        warnings: What a person should know of the model there, whichever layout it has.
    """

    source: Source
    family: str
    since: Release
    before: Release | None = None
    utilization: float | None = None
    kv_cache: Literal["fp8", "auto"] | None = None
    flags: Options = Field(default={})
    env: Options = Field(default={})
    warnings: tuple[str, ...] = ()


class Published(Value):
    """A figure that somebody published, never without its conditions."""

    figure: str
    conditions: str


class Evidence(Value):
    """Somebody who ran a layout, or at least wrote it down.

    Attributes:
        who: The party.
        source: Where it is written.
        date: When (`2026-08-21`), or unknown.
        engine: Name of the engine: vllm, sglang, tensorrt-llm …
        release: Its version or commit.
        driver: Driver, or unknown.
        nccl: NCCL or RCCL, or unknown.
        fabric: Fabric, or unknown.
        revision: Revision of the checkpoint, or unknown.
        ran: Whether they say that it ran; false where they only size it, or only write it down.
        says: What was seen, one clause.
        published: Figures with their conditions.
    """

    who: str
    source: Source
    date: str
    engine: str
    release: str
    driver: str = "unknown"
    nccl: str = "unknown"
    fabric: str = "unknown"
    revision: str = "unknown"
    ran: bool = True
    says: str
    published: tuple[Published, ...] = ()


class DocumentedLayout(Value):
    """A layout that somebody has written down.

    Attributes:
        title: What people call it (`TP8`, `TP8xPP2`).
        checkpoints: Checkpoints that it is documented for, by name.
        accelerators: Accelerators likewise.
        fabrics: Fabrics likewise.
        layout: The split.
        good_for: What it is chosen for.
        why: Why one would choose it.
        needs: What `up` does not have yet for it; None where nothing is missing.
        flags: Engine options of it; in a disaggregated layout of both engines.
        env: Environment likewise.
        prefill: Options of the prefill engine alone.
        prefill_env: Environment likewise.
        decode: Options of the decode engine alone.
        decode_env: Environment likewise.
        warnings: What a person should know of it.
        evidence: Who ran it or wrote it down; where nobody ran it, it is sized only.
    """

    title: str
    checkpoints: tuple[str, ...]
    accelerators: tuple[str, ...]
    fabrics: tuple[str, ...]
    layout: Layout
    good_for: tuple[Literal["least-hardware", "cost-per-token"], ...]
    why: str
    needs: str | None = None
    flags: Options = Field(default={})
    env: Options = Field(default={})
    prefill: Options = Field(default={})
    prefill_env: Options = Field(default={})
    decode: Options = Field(default={})
    decode_env: Options = Field(default={})
    warnings: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...]


class Refused(Value):
    """Why there is no layout on an accelerator."""

    reason: str
    source: Source


class Endpoint(Value):
    """What a client of the model has to know.

    Attributes:
        reasoning_parser: The engine's parser of the reasoning; None: the model does not reason.
        tool_parser: The engine's parser of tool calls; None: no tools.
        efforts: Levels of `reasoning_effort`, the default first; empty: it has no such setting.
        preserved_thinking: Whether reasoning of earlier turns is kept.
        sampling: Recommended settings.
        timeout: Of a client, in seconds.
        max_tokens: A budget for the answer that leaves room for the reasoning.
        routes: What its documentation says is served beside chat, completions and models, by POST.
    """

    source: Source
    reasoning_parser: str | None
    tool_parser: str | None
    efforts: tuple[str, ...] | Unknown
    preserved_thinking: bool | Unknown
    sampling: Mapping[str, float | int]
    timeout: Count
    max_tokens: Count
    routes: tuple[ApiPath, ...] = ()


class ModelFacts(Value):
    """What `models/<name>.yaml` says of a model.

    Attributes:
        served_name: Model name in the API.
        transformers: Least release of transformers that knows the model; None: any.
        requires: Least engine release that knows the model.
        warnings: What a person should know of it, whichever checkpoint and layout it has.
        retention: What prefix retention asks of the model; None where nobody says.
        refused: Accelerator → why no layout is documented there.
    """

    sources: Sources
    title: str
    served_name: str
    requires: Release | Unknown
    transformers: Release | None = None
    shape: Shape
    context: Context
    retention: Retention | None = None
    checkpoints: Annotated[Mapping[str, CheckpointFacts], Field(min_length=1)]
    drafts: Mapping[str, Draft] = {}
    speculation: Speculation | None = None
    flags: Options = Field(default={})
    env: Options = Field(default={})
    profiles: tuple[Profile, ...]
    layouts: tuple[DocumentedLayout, ...]
    refused: Mapping[str, Refused] = {}
    warnings: tuple[str, ...] = ()
    endpoint: Endpoint


class Checkpoint(Value):
    """A checkpoint with its manifest, or why there is none."""

    facts: CheckpointFacts
    manifest: Manifest | Unpinned


class Model(Value):
    """A model of the catalog with its checkpoints by name."""

    name: str
    facts: ModelFacts
    checkpoints: Mapping[str, Checkpoint]

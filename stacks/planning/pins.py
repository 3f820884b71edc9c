"""The pins of a plan, and those that nobody could look up yet."""

from collections.abc import Iterator

from stacks.catalog.figures import Unknown, Unpinned
from stacks.catalog.models import Manifest
from stacks.planning.design import Design
from stacks.planning.evidence import pinned
from stacks.planning.plan import Checkpoint, DraftPin, EnginePin, MissingPin


def checkpoint(design: Design) -> Checkpoint:
    """Return the checkpoint as pinned as it is."""
    facts, manifest = design.checkpoint.facts, design.checkpoint.manifest
    files = manifest.files if isinstance(manifest, Manifest) else {}
    return Checkpoint(
        name=f"{design.model.name}-{design.checkpoint_name}",
        label=facts.label,
        repository=facts.repository,
        revision=facts.revision if isinstance(facts.revision, str) else None,
        file_bytes=_known(facts.file_bytes),
        tensor_bytes=_known(facts.tensor_bytes),
        about_bytes=facts.about_bytes,
        shards=_known(facts.shards),
        files={path: (file.size, file.sha256) for path, file in files.items()},
    )


def draft(design: Design) -> DraftPin | None:
    """Return the draft model as pinned as it is; None where there is none of its own."""
    facts = design.draft
    if facts is None or facts.repository is None:
        return None
    return DraftPin(
        name=f"{design.model.name}-{design.draft_name}",
        repository=facts.repository,
        revision=facts.revision if isinstance(facts.revision, str) else None,
        tensor_bytes=_known(facts.tensor_bytes),
    )


def engine(design: Design) -> EnginePin:
    """Return the engine as pinned as it is."""
    facts, lock, nccl = design.engine.facts, design.lock, pinned(design)["NCCL"]
    image = facts.image
    return EnginePin(
        name=design.engine.name,
        release=facts.release,
        variant=facts.variant,
        lock=lock.path if lock else None,
        lock_digest=lock.digest if lock else "",
        driver_floor=facts.driver_floor,
        nccl=None if nccl == "not pinned" else nccl,
        image=f"{image.repository}@{image.digest}" if image and isinstance(image.digest, str) else None,
        image_unpinned=image.digest.unpinned if image and isinstance(image.digest, Unpinned) else None,
    )


def missing(design: Design) -> Iterator[MissingPin]:
    """Yield what is documented but not pinned; an image counts only where there is no lock to install."""
    facts, engine_facts = design.checkpoint.facts, design.engine.facts
    arch = design.machine.arch
    pins = {
        f"revision of {facts.repository}": facts.revision,
        f"files of {facts.repository}": design.checkpoint.manifest,
        f"{arch} lock of {design.engine.name}": design.engine.locks.get(arch),
    }
    if design.draft and design.draft.repository:
        pins[f"revision of {design.draft.repository}"] = design.draft.revision
        pins[f"files of {design.draft.repository}"] = design.draft.manifest or Unpinned(
            unpinned="no hash of its files is known here"
        )
    if engine_facts.image and not design.lock:
        pins[f"digest of {engine_facts.image.repository}"] = engine_facts.image.digest
    for what, pin in pins.items():
        if isinstance(pin, Unpinned):
            yield MissingPin(what=what, why=pin.unpinned)


def _known(size: int | Unknown) -> int | None:
    """Return a figure; None where it is unknown."""
    return size if isinstance(size, int) else None

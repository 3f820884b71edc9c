"""What is unpinned for one stack, and how each is looked up."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from stacks import catalog, config, planning
from stacks.catalog.engines import EngineFacts, LockFile
from stacks.catalog.figures import Unpinned
from stacks.catalog.hardware import Arch
from stacks.catalog.loader import FOLDER
from stacks.catalog.models import CheckpointFacts, Draft, Manifest
from stacks.errors import Refusal
from tools.bootstrap.work import CHECKOUT, tell
from tools.lock import edits, engines, hub, registry


class Wanted(NamedTuple):
    """What a stack is made of, by its names in the catalog."""

    model: str
    checkpoint: str
    draft: str | None
    engine: str
    arch: Arch


Step = Callable[[], str]
"""Looks one pin up, writes it, and returns what it is."""


def wanted(stack: str) -> Wanted:
    """Return what a stack is made of, as its plan chose it.

    Raises:
        Refusal: There is no such stack.
        ConfigError: Its file is wrong.
        PlanError: It cannot work.
    """
    source = f"stacks/Pulumi.{stack}.yaml"
    file = CHECKOUT / source
    if not file.is_file():
        raise Refusal(f"{source}: there is no such stack; write the file, or name another stack")
    fleet = config.parse_file(file, source)
    plan = planning.plan(fleet, catalog.load(), stack)
    prefix = f"{fleet.model}-"
    return Wanted(
        model=fleet.model,
        checkpoint=plan.checkpoint.name.removeprefix(prefix),
        draft=plan.draft.name.removeprefix(prefix) if plan.draft else None,
        engine=plan.engine.name,
        arch="aarch64" if plan.machine.arch == "aarch64" else "x86_64",
    )


def pin(wanted: Wanted, folder: Path = FOLDER) -> list[str]:
    """Look up everything that is unpinned, write what was found, and return the sentences about what was not.

    Raises:
        CatalogError: The catalog is wrong.
    """
    failed = []
    steps = list(_steps(wanted, folder))
    if not steps:
        tell("lock", "nothing of it is unpinned")
    for what, step in steps:
        tell("lock", f"looking up {what}")
        try:
            tell("lock", f"{what} is {step()}")
        except Refusal as error:
            failed.append(f"{error}" if what in f"{error}" else f"{what}: {error}")
    catalog.load(folder)
    return failed


def _steps(wanted: Wanted, folder: Path) -> Iterator[tuple[str, Step]]:
    known = catalog.load(folder)
    model, engine = known.models[wanted.model], known.engines[wanted.engine]
    checkpoint = model.checkpoints[wanted.checkpoint].facts
    models = folder / "models" / f"{wanted.model}.yaml"
    yield from _files(models, ("checkpoints", wanted.checkpoint), checkpoint)
    if wanted.draft:
        yield from _files(models, ("drafts", wanted.draft), model.facts.drafts[wanted.draft])
    yield from _engine(folder, wanted.engine, engine.facts, wanted.arch)


def _files(file: Path, at: tuple[str, str], facts: CheckpointFacts | Draft) -> Iterator[tuple[str, Step]]:
    """Yield how revision and files of a checkpoint or draft are looked up: both from one answer."""
    manifest_pinned = isinstance(facts.manifest, str)
    repository, revision = facts.repository, facts.revision
    if repository is None or (isinstance(revision, str) and manifest_pinned):
        return

    def look() -> str:
        if manifest_pinned:
            raise Refusal(
                f"{'.'.join(at)} has files but no revision; write the revision of its manifest there"
            )
        manifest = hub.pin(repository, revision if isinstance(revision, str) else hub.MAIN)
        _prove_shards(repository, facts, manifest)
        path = f"manifests/{file.stem}-{at[1]}.yaml"
        edits.write(file.parents[1] / path, _text(repository, manifest))
        pins: dict[edits.Place, str] = {(*at, "manifest"): path}
        if not isinstance(revision, str):
            pins[*at, "revision"] = manifest.revision
        edits.pin(file, pins)
        return f"{manifest.revision}, {len(manifest.files)} files"

    yield f"{repository}", look


def _prove_shards(repository: str, facts: CheckpointFacts | Draft, manifest: Manifest) -> None:
    """Refuse files that are not the ones that the catalog's figures are about."""
    if isinstance(facts, Draft):
        return
    sizes = [file.size for path, file in manifest.files.items() if path.endswith(".safetensors")]
    for unit, known, found in (("bytes", facts.file_bytes, sum(sizes)), ("files", facts.shards, len(sizes))):
        if isinstance(known, int) and known != found:
            raise Refusal(
                f"{repository}: its shards at {manifest.revision} are {found:,} {unit}, and the catalog says"
                f" {known:,}: another revision, or another model; look at it before anything is pinned"
            )


def _text(repository: str, manifest: Manifest) -> str:
    header = f"# Written by `make lock STACK=…` from {repository} of the hub.\n"
    return header + yaml.safe_dump(manifest.model_dump(mode="json"), sort_keys=False)


def _engine(folder: Path, name: str, facts: EngineFacts, arch: Arch) -> Iterator[tuple[str, Step]]:
    file = folder / "engines" / f"{name}.yaml"
    lock = facts.locks.get(arch)
    if isinstance(lock, LockFile) and isinstance(lock.lock, Unpinned):

        def resolve() -> str:
            path = f"locks/{name}-{arch}.lock"
            edits.write(folder / path, engines.resolve(name, facts, arch))
            edits.pin(file, {("locks", arch, "lock"): path})
            return path

        yield f"the {arch} lock of {name}", resolve
    image = facts.image
    if image and isinstance(image.digest, Unpinned):
        tag = f"nightly-{facts.commit}" if facts.commit else f"v{facts.release}"
        repository = image.repository

        def look() -> str:
            found = registry.digest(repository, tag, facts.locks)
            edits.pin(file, {("image", "digest"): found})
            return found

        yield f"{repository}:{tag}", look

"""Look up the pins that a stack lacks; without a stack, resolve every lock and pin the small model anew."""

import argparse
import sys
import tempfile
from pathlib import Path

import yaml

from stacks import catalog
from stacks.catalog.engines import EngineFacts
from stacks.catalog.loader import FOLDER
from stacks.errors import RackstackError
from tools.bootstrap.work import tell
from tools.lock import edits, engines, stack

_SMALL = "lab-qwen3"


def main() -> int:
    """Return the exit status; every failure is one sentence on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tools.lock", description=__doc__)
    parser.add_argument("stack", nargs="?", help="a stack, such as kimi-k3-gb300")
    name = parser.parse_args().stack
    try:
        failed = stack.pin(stack.wanted(name)) if name else _anew()
    except RackstackError as error:
        failed = [str(error)]
    for sentence in failed:
        print(sentence, file=sys.stderr)
    return 1 if failed else 0


def _anew() -> list[str]:
    failed = []
    for name, engine in catalog.load().engines.items():
        try:
            _resolve(name, engine.facts)
        except RackstackError as error:
            failed.append(str(error) if name in str(error) else f"{name}: {error}")
    _small_model()
    return failed


def _resolve(name: str, facts: EngineFacts) -> None:
    """Resolve the locks of an engine that has some; those that it lacks are looked up with a stack."""
    for arch, lock in facts.locks.items():
        if isinstance(lock.lock, str) and engines.resolvable(name, facts):
            tell("lock", f"resolving {name} for {arch}")
            edits.write(FOLDER / lock.lock, engines.resolve(name, facts, arch))


def _small_model() -> None:
    """Pin what tools/model writes today, in the manifest and in the model's file."""
    from tools import model  # noqa: PLC0415 - numpy is not worth loading for a stack

    with tempfile.TemporaryDirectory() as folder:
        revision, files = model.build(Path(folder)), model.files(Path(folder))
    manifest = {"revision": revision, "files": files}
    text = "# Written by `make lock` from tools/model.\n" + yaml.safe_dump(manifest, sort_keys=False)
    edits.write(FOLDER / "manifests" / f"{_SMALL}.yaml", text)
    file = FOLDER / "models" / f"{_SMALL}.yaml"
    old = yaml.safe_load(file.read_text())["checkpoints"]["bf16"]["revision"]
    edits.write(file, file.read_text().replace(old, revision))


sys.exit(main())

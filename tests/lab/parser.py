"""Every command of every shipped stack before the argument parser of the engine on a lab host."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from components.hosts import ssh
from stacks.planning import commands
from tests.factories import oracle, stacks

if TYPE_CHECKING:
    from components.hosts.record import HostRecord

_CASES = Path(__file__).parents[1] / "cases/stacks/planning"


def answers(host: HostRecord) -> dict[str, str]:
    """Return what the lab's engine on a host says of each command: `ok`, or its complaint."""
    asked, script = shipped(), Path(oracle.__file__).read_text()
    python = f"{stacks.planned('lab').engine.home}/bin/python"
    # From a folder that holds no `vllm`; the first import of the engine takes a while on one core.
    answer = ssh.run(
        host,
        f"cd / && {python} -c {shlex.quote(script)}",
        deadline=300,
        stdin=json.dumps(list(asked.values())),
    )
    assert answer.code == 0, answer.err
    return dict(zip(asked, json.loads(answer.out), strict=True))


def expected() -> dict[str, str]:
    """Return the same where nothing is wrong: all is taken but what the case file says this release lacks."""
    case = _case("parser.yaml")
    assert case["release"] == stacks.planned("lab").engine.release, "another release may lack other options"
    asked = shipped()
    lacks = {f"--{name}" for name in case["lacks"]}
    assert lacks <= {word for command in asked.values() for word in command}, "no command has this option"
    return {name: _verdict(command, lacks) for name, command in asked.items()}


def shipped() -> dict[str, tuple[str, ...]]:
    """Return the commands of all shipped stacks, as they stand and as readers of the articles change them."""
    changed = [(case["stack"], case["changes"]) for case in _case("articles.yaml") if "changes" in case]
    return {
        f"{stack} {json.dumps(changes)}: {command.group} {command.rank}": command.argv
        for stack, changes in [*((name, {}) for name in stacks.NAMES), *changed]
        for command in _commands(stack, changes)
    }


def _commands(stack: str, changes: dict[str, Any]) -> tuple[Any, ...]:
    planned = stacks.planned(stack, changes)
    return commands(planned, {host.name: host.name for host in planned.hosts})


def _verdict(command: tuple[str, ...], lacks: set[str]) -> str:
    """Return what the parser says where it lacks options: it lists them with their values."""
    own: list[str] = []
    unknown = False
    for word in command:
        unknown = word in lacks if word.startswith("--") else unknown
        own += [word] if unknown else []
    return f"unrecognized arguments: {' '.join(own)}" if own else "ok"


def _case(file: str) -> Any:
    return yaml.safe_load((_CASES / file).read_text())

"""Commands as a person pastes them into a shell."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from stacks.planning import FleetPlan, RankCommand, commands
from stacks.report import reached
from stacks.report.words import COLUMNS, lines

_WIDTH = COLUMNS - 4


def blocks(plan: FleetPlan) -> Iterator[str]:
    """Yield the command of every rank; host names stand where addresses are not known yet.

    A rank with the options of an earlier one is given by that one and the words in which it differs.
    """
    whole: list[RankCommand] = []
    for command in commands(plan, reached.addresses(plan)):
        like = next((each for each in whole if _alike(each, command)), None)
        yield ""
        if like is None:
            whole.append(command)
            yield f"{_who(command)}:"
            yield ""
            yield from _paste(command)
        else:
            words = " ".join(f"`{word}`" for word in _own(like, command))
            yield from lines(f"{_who(command)}: as rank {like.rank} of {like.group}, but with {words}")


def _who(command: RankCommand) -> str:
    return f"Rank {command.rank} of {command.group} on {command.host}"


def _alike(one: RankCommand, other: RankCommand) -> bool:
    return (
        one.group == other.group
        and list(one.env) == list(other.env)
        and len(one.argv) == len(other.argv)
        and [word for word in one.argv if word.startswith("--")]
        == [word for word in other.argv if word.startswith("--")]
    )


def _own(like: RankCommand, command: RankCommand) -> Iterator[str]:
    """Yield the words in which a command differs, each option with its values."""
    for name, value in command.env.items():
        if like.env[name] != value:
            yield shlex.join([f"{name}={value}"])
    for then, now in zip(options(like.argv), options(command.argv), strict=True):
        if then != now:
            yield shlex.join(now)


def _paste(command: RankCommand) -> Iterator[str]:
    """Yield the command as an indented Markdown code block, ready to paste into a shell."""
    env = [shlex.join([f"{name}={value}"]) for name, value in command.env.items()]
    (program, verb, model), *rest = options(command.argv)
    started = [shlex.join([program, verb]), shlex.quote(model), *(shlex.join(words) for words in rest)]
    packed = [*_packed(["env", *env]), *_packed(started)]
    yield from " \\\n".join(f"    {line}" for line in packed).split("\n")


def options(argv: Sequence[str]) -> list[Sequence[str]]:
    """Return the words of a command, each option together with its values."""
    starts = [i for i, word in enumerate(argv) if i == 0 or word.startswith("--")]
    return [argv[start:end] for start, end in pairwise([*starts, len(argv)])]


def _packed(words: list[str]) -> Iterator[str]:
    line = words[0]
    for word in words[1:]:
        if len(f"{line} {word} \\") > _WIDTH:
            yield line
            line = f"  {word}"
        else:
            line = f"{line} {word}"
    yield line

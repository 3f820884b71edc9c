"""`python -m tools.report STACK FORMAT`: the plan of a stack, without an engine and without a state."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from stacks import catalog, config, planning, report
from stacks.errors import RackstackError, Refusal
from stacks.faults import nearest

_STACKS = Path(__file__).resolve().parent.parent / "stacks"
_WORDS = ("STACK", "FORMAT")
_FORMATS: Mapping[str, Callable[[planning.FleetPlan], str]] = {
    "md": report.markdown,
    "svg": report.svg,
    "json": report.json,
}


def written(stack: str, form: str) -> str:
    """Return the report of a stack.

    Args:
        stack: Name of the stack.
        form: md, svg or json.

    Raises:
        RackstackError: The stack is refused, or there is no such stack or format.
    """
    if form not in _FORMATS:
        raise Refusal(f"FORMAT={form}: there is no such format; take one of {', '.join(_FORMATS)}")
    return _FORMATS[form](planned(stack))


def planned(stack: str) -> planning.FleetPlan:
    """Return the plan of a stack file.

    Raises:
        RackstackError: The stack is refused, or there is no such stack.
    """
    file, source = _STACKS / f"Pulumi.{stack}.yaml", f"stacks/Pulumi.{stack}.yaml"
    known = sorted(
        each.stem.removeprefix("Pulumi.") for each in _STACKS.glob("Pulumi.*.yaml") if each.is_file()
    )
    if stack not in known:
        raise Refusal(f"STACK={stack}: there is no {source}; {nearest(stack, known)}")
    wanted = config.parse_file(file, source)
    return planning.plan(wanted, catalog.load(), stack)


def main(*words: str) -> int:
    """Print the report and return the exit status; refusals come one per line on stderr."""
    if len(words) != len(_WORDS):
        print(f"usage: python -m tools.report {' '.join(_WORDS)}", file=sys.stderr)
        return 2
    try:
        text = written(*words)
    except RackstackError as refused:
        print(refused, file=sys.stderr)
        return 1
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    except OSError as error:
        # Without this Python complains once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader (`| head`) has seen enough
            return 0
        print(f"the report cannot be written to stdout: {error.strerror}; make room there", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

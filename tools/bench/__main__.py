"""The ratios of docs/benchmarks.md, from one run: `python -m tools.bench`, with the lab taken away before."""

import json
import sys
from collections.abc import Iterator
from functools import partial

from stacks.errors import RackstackError
from tools.bench import chain, playbooks, project
from tools.bench.watch import ansible_during
from tools.bootstrap.work import tell
from tools.drive.session import Session

_ROUNDS = 5
_BLIND = "--refresh=false"
_UP = ("up", "--yes", "--skip-preview")

Row = tuple[str, str, str, str]


def measure(session: Session) -> Iterator[Row]:
    """Yield what was measured, the figure, its parts and its limit; the lab is taken away at the end."""
    lab, floor = project.lab(session), project.floor(session)
    try:
        yield _first(session, lab)
        yield _preview(lab, floor)
        yield from _second(lab, floor)
        yield _playbooks(session)
    finally:
        tell("bench", "taking the lab away")
        lab.seconds("destroy", "--yes", "--skip-preview")
        session.run("stack", "rm", session.stack, "--yes", "--preserve-config")
        floor.seconds("destroy", "--yes", "--skip-preview")


def _first(session: Session, lab: project.Project) -> Row:
    tell("bench", "first up")
    wall, taken = chain.first_up(lab)
    longest = chain.longest(taken, json.loads(session.ask("stack", "export", "--stack", session.stack)))
    return _ratio("first `up` ÷ longest chain of its resources", wall, longest, "≤ 1.1")


def _preview(lab: project.Project, floor: project.Project) -> Row:
    tell("bench", "previews")
    ours, least = project.in_turn(
        _ROUNDS, lambda: lab.seconds("preview", _BLIND), lambda: floor.seconds("preview", _BLIND)
    )
    return _ratio("`preview` without looking ÷ floor", ours, least, "≤ 1.25")


def _second(lab: project.Project, floor: project.Project) -> Iterator[Row]:
    tell("bench", "second ups")
    blind, looking, least = project.in_turn(
        _ROUNDS,
        lambda: lab.seconds(*_UP, _BLIND),
        lambda: lab.seconds(*_UP, "--refresh"),
        lambda: floor.seconds(*_UP, _BLIND),
    )
    yield _ratio("second `up` without looking ÷ floor", blind, least, "≤ 1.25")
    more = f"{looking - blind:+.1f} s"
    yield "second `up` with looking, beyond that", more, f"{looking:.1f} s against {blind:.1f} s", "≤ +1.5 s"
    for flag in (_BLIND, "--refresh"):
        seen = ansible_during(partial(lab.seconds, *_UP, flag))
        yield f"Ansible processes during `up {flag}`, nothing to do", str(seen), "", "0"


def _playbooks(session: Session) -> Row:
    tell("bench", "the four playbooks, both ways")
    state = session.ask("stack", "export", "--show-secrets", "--stack", session.stack)
    ours, plain = playbooks.seconds(playbooks.applied(json.loads(state)))
    return _ratio("four playbooks through Rackstack ÷ `ansible-playbook`", ours, plain, "≤ 1.1")


def _ratio(name: str, ours: float, least: float, limit: str) -> Row:
    return name, f"{ours / least:.2f}", f"{ours:.1f} s ÷ {least:.1f} s", limit


def main() -> int:
    """Print a Markdown table, row by row, and return the exit status."""
    print("| what | figure | from | limit |\n|---|---|---|---|")
    try:
        for row in measure(Session("lab")):
            print(f"| {' | '.join(row)} |", flush=True)
    except RackstackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


sys.exit(main())

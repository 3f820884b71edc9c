"""The ratios of docs/benchmarks.md, from one run: `python -m tools.bench`, with the lab taken away before."""

import json
import sys
from collections.abc import Iterator
from functools import partial

from tools.bench import chain, gateway, looking, planning, playbooks, project, recovery, rotation
from tools.bench.figure import Figure, none_of, printed, ratio, surplus
from tools.bench.served import served
from tools.bench.watch import ansible_during
from tools.bootstrap.work import tell
from tools.drive.session import Session

_ROUNDS = 5
_BLIND = "--refresh=false"
_UP = ("up", "--yes", "--skip-preview")


def measure(session: Session) -> Iterator[Figure]:
    """Yield what was measured; the lab is taken away at the end."""
    lab, floor = project.lab(session), project.floor(session)
    try:
        yield _first(session, lab)
        yield from _previews(lab, floor)
        yield from planning.figures()
        yield from _second(lab, floor)
        yield from _access(session, lab)
        yield _playbooks(session)
        yield from _without_the_engine(session)
    finally:
        tell("bench", "taking the lab away")
        lab.seconds("destroy", "--yes", "--skip-preview")
        session.run("stack", "rm", session.name, "--yes", "--preserve-config")
        floor.seconds("destroy", "--yes", "--skip-preview")


def _first(session: Session, lab: project.Project) -> Figure:
    tell("bench", "first up")
    wall, taken = chain.first_up(lab)
    longest = chain.longest(taken, json.loads(session.ask("stack", "export", "--stack", session.name)))
    return ratio("first `up` ÷ longest chain of its resources", wall, longest, most=1.1)


def _previews(lab: project.Project, floor: project.Project) -> Iterator[Figure]:
    tell("bench", "previews")
    planned = project.planned(planning.STACK)
    looks = (partial(each.seconds, "preview", _BLIND) for each in (lab, planned, floor))
    ours, planning_only, least = project.in_turn(_ROUNDS, *looks)
    yield ratio("`preview` without looking ÷ floor", ours, least, most=1.25)
    yield ratio(f"`preview` of {planning.STACK} ÷ floor", planning_only, least, most=1.3)


def _second(lab: project.Project, floor: project.Project) -> Iterator[Figure]:
    tell("bench", "second ups")
    blind, looking, least = project.in_turn(
        _ROUNDS,
        lambda: lab.seconds(*_UP, _BLIND),
        lambda: lab.seconds(*_UP, "--refresh"),
        lambda: floor.seconds(*_UP, _BLIND),
    )
    yield ratio("second `up` without looking ÷ floor", blind, least, most=1.25)
    yield surplus("second `up` with looking, beyond that", looking, blind, most=1.5)
    for flag in (_BLIND, "--refresh"):
        seen = ansible_during(partial(lab.seconds, *_UP, flag))
        yield none_of(f"Ansible processes during `up {flag}`, nothing to do", seen)


def _access(session: Session, lab: project.Project) -> Iterator[Figure]:
    tell("bench", "looks, streams, rotations and a recovery")
    fleet = served(session)
    yield from looking.at_the_fleet(fleet)
    yield from gateway.of_the_lab(fleet)
    yield from rotation.figures(lab, session.copy, fleet)
    yield from recovery.figures(session, session.copy)
    lab.seconds(*_UP, "--refresh")


def _playbooks(session: Session) -> Figure:
    tell("bench", "all playbooks, both ways")
    ours, plain = playbooks.seconds(served(session).playbooks)
    return ratio("all playbooks through Rackstack ÷ `ansible-playbook`", ours, plain, most=1.1)


def _without_the_engine(session: Session) -> Iterator[Figure]:
    tell("bench", "streams of an even engine, and a look at many hosts")
    fleet = served(session)
    yield from gateway.of_an_even_engine(fleet)
    yield from looking.at_many(fleet)


def main() -> int:
    """Print a Markdown table, row by row; return 1 where a figure is above its limit or none could be had."""
    print("| what | figure | from | limit |\n|---|---|---|---|")
    return printed(measure(Session("lab")))


sys.exit(main())

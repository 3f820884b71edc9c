"""The sections on why: choices, engine options, evidence."""

import shlex
from collections.abc import Iterator

from stacks.planning import FleetPlan
from stacks.planning.commands import membership_reasons, text, words
from stacks.planning.plan import EngineGroup
from stacks.planning.reasons import Choice, Option
from stacks.report.cited import Cited
from stacks.report.words import item, lines


def choices(plan: FleetPlan, cited: Cited) -> Iterator[str]:
    """Yield every decision with its reason, its price and what else there was."""
    yield "## Choices"
    for choice in plan.choices:
        yield from _choice(choice, cited)


def _choice(choice: Choice, cited: Cited) -> Iterator[str]:
    yield from item(f"**{choice.what}: {choice.value}**: {choice.why} {cited.mark(choice.source)}")
    if choice.cost:
        yield from item(f"set by hand, against the planner: {choice.cost}", depth=1)
    for other in choice.alternatives:
        yield from item(f"not {other.value}: {other.why_not}", depth=1)


def options(plan: FleetPlan, cited: Cited) -> Iterator[str]:
    """Yield each option and variable of the commands with its reason; what all engines share comes once."""
    yield "## Why each option"
    yield "Values that differ from rank to rank are those of the first one that has the option."
    yield ""
    asked = {group.name: _asked(group, plan) for group in plan.groups}
    first = asked[plan.groups[0].name]
    shared = [option for option in first if all(option in others for others in asked.values())]
    yield from _options(shared, cited)
    for name, every in asked.items():
        if own := [option for option in every if option not in shared]:
            yield ""
            yield f"{name} alone:"
            yield ""
            yield from _options(own, cited)


def _asked(group: EngineGroup, plan: FleetPlan) -> list[Option]:
    return [*group.options, *group.env, *membership_reasons(plan, group)]


def _options(options: list[Option], cited: Cited) -> Iterator[str]:
    """Yield the options, those with one reason together."""
    together: dict[tuple[str, str], list[str]] = {}
    for option in options:
        together.setdefault((option.why, option.source), []).append(f"`{_written(option)}`")
    for (why, source), written in together.items():
        yield from item(f"{', '.join(written)}: {why} {cited.mark(source)}")


def _written(option: Option) -> str:
    if option.name.isupper():
        return f"{option.name}={text(option.value)}"
    return option.name if option.name == "model" else shlex.join(words(option))


def evidence(plan: FleetPlan, cited: Cited) -> Iterator[str]:
    """Yield who ran this layout, where, when and on what."""
    yield "## Evidence"
    yield from lines(f"{plan.standing.sentence}.")
    if plan.standing.evidence:
        yield ""
    for found in plan.standing.evidence:
        known = {
            "driver": found.driver,
            "NCCL": found.nccl,
            "fabric": found.fabric,
            "revision": found.revision,
        }
        stated = ", ".join(f"{what} {value}" for what, value in known.items() if value != "unknown")
        unknown = ", ".join(what for what, value in known.items() if value == "unknown")
        date, release = (
            value if value != "unknown" else f"{what} unknown"
            for what, value in (("date", found.date), ("release", found.release))
        )
        yield from item(
            f"{found.who}, {date}, {found.engine} {release}"
            f"{f', {stated}' if stated else ''}{f' (not recorded: {unknown})' if unknown else ''}: "
            f"{found.says}{'' if found.ran else '; nobody says that it ran'} {cited.mark(found.source)}"
        )
        for figure in found.published:
            yield from item(f"{figure.figure}, published for: {figure.conditions}; never a promise", depth=1)

"""What makes a fleet impossible: a table of rules, each with its source; docs/rules.md is drawn from it."""

from collections.abc import Iterator, Mapping
from itertools import chain

from stacks.planning.design import Design
from stacks.planning.rules import (
    access,
    by_hand,
    caches,
    capacity,
    documented,
    drafts,
    engines,
    fabrics,
    fitting,
    known,
    split,
    unfit,
    workloads,
)
from stacks.planning.rules.rule import Finding, Rule
from stacks.planning.sized import Sized

__all__ = ["RULES", "SECTIONS", "Finding", "Rule", "Sized", "broken"]

SECTIONS: Mapping[str, tuple[Rule, ...]] = {
    "Split and machines": split.RULES,
    "Fabric": fabrics.RULES,
    "Evidence and formats": documented.RULES,
    "Engine": engines.RULES,
    "Memory": capacity.RULES,
    "Cache": caches.RULES,
    "Drafts, and prefill and decode apart": drafts.RULES,
    "Workload": workloads.RULES,
    "Access": access.RULES,
    "Set by hand": (*known.RULES, *by_hand.RULES, *unfit.RULES, *fitting.RULES),
}
"""Heading in docs/rules.md → rules."""

RULES: tuple[Rule, ...] = tuple(chain.from_iterable(SECTIONS.values()))


def broken(design: Design, sized: Sized) -> Iterator[str]:
    """Yield every rule that a fleet breaks, as one sentence: the value, the rule, the way out, the source."""
    told = chain.from_iterable(rule.sentences(design, sized) for rule in RULES)
    yield from dict.fromkeys(told)

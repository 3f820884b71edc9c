"""What a rule is, and how one that is broken is told."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from stacks.config import KEY, Disaggregated
from stacks.faults import shown
from stacks.planning import secret
from stacks.planning.design import Design, GroupDesign
from stacks.planning.naming import split
from stacks.planning.sized import Sized

_LONGEST = 160
"""Characters of a value in a sentence."""


class Finding(NamedTuple):
    """One place where a rule is broken.

    Attributes:
        at: Path below `rackstack:fleet`.
        value: The value there, as a person wrote or would write it.
        rule: What is wrong with it, so that value and rule read as one clause.
        way_out: What to write instead.
        source: Where this is written, where the rule's own source is not it.
    """

    at: str
    value: object
    rule: str
    way_out: str
    source: str | None = None


class Rule(NamedTuple):
    """A rule that every fleet keeps.

    Attributes:
        id: Its name in a refusal.
        text: The rule in words, one clause.
        source: Address or title of where it is written.
        check: Yields every place where a fleet breaks it.
    """

    id: str
    text: str
    source: str
    check: Callable[[Design, Sized], Iterator[Finding]]

    def sentences(self, design: Design, sized: Sized) -> Iterator[str]:
        """Yield one sentence for every place where a fleet breaks the rule."""
        for found in self.check(design, sized):
            source, value = found.source or self.source, _shown(design, found)
            yield f"{KEY}.{found.at}: {value} {found.rule}; {found.way_out} [{self.id}; {source}]"


def _shown(design: Design, found: Finding) -> str:
    """Return the value, on one line; what may be a secret is never shown, whichever rule it breaks."""
    if secret.hides(design.config, found.at):
        return secret.HIDDEN
    value = str(found.value)
    value = value if value.isprintable() else shown(value)
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"


def in_layout(design: Design, group: GroupDesign, key: str) -> str:
    """Return the path of a key of an engine's split: `layout.decode.tensor_parallel`."""
    apart = isinstance(design.config.layout, Disaggregated) or group.name != "serve"
    return f"layout.{group.name}.{key}" if apart else f"layout.{key}"


def called(design: Design) -> str:
    """Return what a sentence calls the model: `Kimi K3`."""
    return design.model.facts.title.partition(",")[0]


def number_format(design: Design) -> str:
    """Return what a sentence calls the checkpoint: `MXFP4`."""
    return design.checkpoint.facts.label.partition(",")[0]


def split_of(design: Design) -> str:
    """Return how a fleet is split, and over how many GPUs."""
    parts = [group.parallel for group in design.groups]
    whole = parts[0] if len(parts) == 1 else Disaggregated(prefill=parts[0], decode=parts[1])
    return f"{split(whole)} on {whole.gpus} GPUs"


def either(names: list[str]) -> str:
    """Return names as a choice: `a, b or c`."""
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)

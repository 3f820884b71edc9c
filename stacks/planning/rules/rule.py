"""What a rule is, and how one that is broken is told."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from stacks.config import KEY, Disaggregated
from stacks.planning.design import Design, GroupDesign
from stacks.planning.sized import Cache, GpuMemory

Sized = Mapping[str, tuple[GpuMemory, Cache]]
"""Name of an engine → what one of its GPUs holds, and how its cache is laid out."""


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
            source = found.source or self.source
            yield f"{KEY}.{found.at}: {found.value} {found.rule}; {found.way_out} [{self.id}; {source}]"


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


def gigabytes(size: int) -> str:
    """Return bytes as a person reads them, in decimal GB."""
    return f"{size / 10**9:,.1f} GB"


def either(names: list[str]) -> str:
    """Return names as a choice: `a, b or c`."""
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)

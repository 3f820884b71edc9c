"""Every error of Rackstack, in one tree.

```
RackstackError             one sentence (or one per line): the value, the rule, the way out
├── ConfigError            the stack file is wrong: every fault, with its path in the file
├── CatalogError           a catalog file is wrong, or has no such entry
├── PlanError              the fleet cannot work: every broken rule
└── EffectError            something real refused or failed
    ├── Refusal            nothing was made
    ├── Incomplete         made, but not well: the resource keeps its id and outputs
    └── Unreachable        a host did not answer; `look` reports it as drift instead
```
"""

from collections.abc import Sequence


class RackstackError(Exception):
    """Base of the tree; its text is shown to a person as it stands."""


class FaultsError(RackstackError):
    """Several faults of one input, all listed at once, one per line."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


class ConfigError(FaultsError):
    """The stack file is wrong; each fault starts with its path in the file."""


class CatalogError(FaultsError):
    """A catalog file is wrong, or the catalog has no entry of that name."""


class PlanError(FaultsError):
    """The fleet that was asked for cannot work; each fault is one broken rule."""


class EffectError(RackstackError):
    """Something real refused or failed."""


class Refusal(EffectError):  # noqa: N818 - says what happened; `except Refusal` reads so
    """Nothing was made; the sentence says what to fix."""


class Unreachable(EffectError):  # noqa: N818 - says what happened; `except Unreachable` reads so
    """A host did not answer within its deadline."""


class Incomplete(EffectError):  # noqa: N818 - says what happened; `except Incomplete` reads so
    """Something was made, but not well: its id and outputs must stay in state.

    Args:
        reasons: One sentence per thing that is wrong.
        outputs: What is known of the resource, an instance of its kind's outputs model.
    """

    def __init__(self, reasons: Sequence[str], outputs: object) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)
        self.outputs = outputs

"""How the catalog writes what it knows: figures with a source, pins, and what is missing of either."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from stacks.config import Setting
from stacks.values import Value

Unknown = Literal["unknown"]
Count = Annotated[int, Field(ge=1, description="a positive whole number")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="a SHA-256 in hex")]
Segment = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="one path segment")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$", description="a full commit, 40 hex digits")]
Release = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)+([a-z]+[0-9]+)?$", description="an exact release")]
ApiPath = Annotated[
    str,
    Field(pattern=r"^/v[12](/[a-z0-9_-]+)+$", description="a whole path of the API such as /v1/embeddings"),
]
Source = Annotated[str, Field(min_length=1, description="a key of the file's `sources`")]
Sources = Mapping[str, str]
"""Key → address or title of what a figure was read in; `assumption` says that nobody documents it."""


def address(sources: Sources, key: str) -> str:
    """Return where a source can be read; what is no key of the file, such as `assumption`, says so itself."""
    return sources.get(key, key)


class Unpinned(Value):
    """A pin that is documented, but that nobody could look up yet: shown, and refused by `up`."""

    unpinned: str = Field(min_length=1, description="why it is not pinned")


class Reasoned(Value):
    """An engine option or variable with its reason.

    Attributes:
        value: As in a stack file: false is the `--no-` form, a mapping is written as JSON.
        why: The reason, one clause without a full stop.
        source: Where it is documented.
        needs: Package → least release in the engine's lock; without it the option is left out.
        fixed: Whether the hand may not write another value; the reason is the refusal.
        fixed_keys: Of a JSON value the only keys that are fixed; empty: all of it.
    """

    value: Setting
    why: str
    source: Source
    needs: Mapping[str, Release] = {}
    fixed: bool = False
    fixed_keys: tuple[str, ...] = ()


Options = Mapping[str, Reasoned]

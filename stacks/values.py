"""The base of every frozen value that a person writes or that crosses rooms."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value that refuses unknown keys and silent conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

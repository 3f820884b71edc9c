"""Quantities as a person writes them: `8 GB/s`, `24 h`, a day."""

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

_PER_SECOND: Final = {"MB/s": 10**6, "GB/s": 10**9, "MiB/s": 2**20, "GiB/s": 2**30}
_SECONDS: Final = {"min": 60, "h": 3600, "d": 86400}
_QUANTITY = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*(.*)")


def _reader(units: dict[str, int], most: str) -> BeforeValidator:
    """Return what reads a quantity; `stacks.faults` puts the value before its faults."""
    form = f"write a number and one of {', '.join(units)}"
    most_number, most_unit = most.split()
    limit = float(most_number) * units[most_unit]

    def read(value: object) -> object:
        found = _QUANTITY.fullmatch(str(value).strip())
        if isinstance(value, bool) or not found:
            raise ValueError(f"is no quantity; {form}")
        number, unit = float(found[1]), found[2]
        if not unit:
            raise ValueError(f"has no unit; {form}")
        if unit not in units:
            raise ValueError(f"has a unit that is not known here; {form}")
        if number <= 0:
            raise ValueError("is not more than zero; write what it takes")
        if number * units[unit] > limit:
            raise ValueError(f"is too large to be meant; it must be at most {most}")
        return number * units[unit]

    return BeforeValidator(read)


def _schema(units: dict[str, int], example: str) -> WithJsonSchema:
    names = "|".join(units)
    return WithJsonSchema({"type": "string", "pattern": rf"^\d+(\.\d+)?\s*({names})$", "examples": [example]})


Speed = Annotated[float, _reader(_PER_SECOND, "10000 GB/s"), _schema(_PER_SECOND, "8 GB/s")]
"""Bytes per second."""

Duration = Annotated[float, _reader(_SECONDS, "366 d"), _schema(_SECONDS, "24 h")]
"""Seconds."""


def _day(value: object) -> object:
    """Return a day as it was written: Pulumi makes a moment of one without quotes."""
    return value.removesuffix(" 00:00:00 +0000 UTC") if isinstance(value, str) else value


Day = Annotated[
    str,
    Field(pattern=r"^20\d{2}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$", description="a day as year-month-day"),
    BeforeValidator(_day),
]
"""A day of this century."""

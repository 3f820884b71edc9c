"""Quantities as a person writes them: `8 GB/s`, `24 h`, a day."""

import re
from calendar import monthrange
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

_PER_SECOND: Final = {"MB/s": 10**6, "GB/s": 10**9, "MiB/s": 2**20, "GiB/s": 2**30}
_SECONDS: Final = {"min": 60, "h": 3600, "d": 86400}
_QUANTITY = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?)\s*(.*)")


def _reader(units: dict[str, int], least: str, most: str) -> BeforeValidator:
    """Return what reads a quantity; `stacks.faults` puts the value before its faults."""
    form = f"write a number and one of {', '.join(units)}"
    lowest, highest = (float(each.split()[0]) * units[each.split()[1]] for each in (least, most))

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
        if number * units[unit] < lowest:
            raise ValueError(f"is too small to be meant; it must be at least {least}")
        if number * units[unit] > highest:
            raise ValueError(f"is too large to be meant; it must be at most {most}")
        return number * units[unit]

    return BeforeValidator(read)


def _schema(units: dict[str, int], example: str) -> WithJsonSchema:
    names = "|".join(units)
    return WithJsonSchema(
        {"type": "string", "pattern": rf"^[0-9]+(\.[0-9]+)?\s*({names})$", "examples": [example]}
    )


Speed = Annotated[float, _reader(_PER_SECOND, "1 MB/s", "10000 GB/s"), _schema(_PER_SECOND, "8 GB/s")]
"""Bytes per second."""

Duration = Annotated[float, _reader(_SECONDS, "1 min", "366 d"), _schema(_SECONDS, "24 h")]
"""Seconds."""


def _day(value: object) -> object:
    """Return a day as it was written: Pulumi makes a moment of one without quotes."""
    return value.removesuffix(" 00:00:00 +0000 UTC") if isinstance(value, str) else value


def _of_the_calendar(day: str) -> str:
    year, month, number = map(int, day.split("-"))
    if number > monthrange(year, month)[1]:
        raise ValueError("is no day of the calendar; write the day that is meant")
    return day


Day = Annotated[
    str,
    Field(
        pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
        description="a day as year-month-day",
    ),
    BeforeValidator(_day),
    AfterValidator(_of_the_calendar),
]
"""A day of this century."""

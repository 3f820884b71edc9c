"""Numbers without quotes, as Pulumi reads them: not quite those of YAML 1.1, nor those of YAML 1.2."""

import re
from decimal import Decimal
from typing import Final

_WHOLE: Final = re.compile(
    r"[-+]?(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<oct>[0-7]+)|0[bB](?P<bin>[01]+)|(?P<dec>0|[1-9][0-9]*))"
)
_DECIMAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES: Final = {"hex": 16, "oct": 8, "bin": 2, "dec": 10}
_LONGEST: Final = 64  # digits of the largest whole number, in base two
_LAST: Final = 2**63 - 1
_SPELLED_OUT: Final = 10**21
"""From here on a whole number travels in the form 1e+21, and so arrives as a decimal one."""

ENDLESS: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
"""What JSON, in which Pulumi keeps it, has no word for."""

LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9_]*[0-9][0-9_]*")
"""A number of which some readers take the zero for base eight, and others do not."""


def number(word: str) -> float | str:
    """Return a word that starts like a number as Pulumi passes it on, which may be the word itself.

    A decimal number without a fraction arrives as a whole one.
    """
    plain = word.replace("_", "")
    whole = _whole(plain)
    if whole is not None:
        return whole
    near = float(plain) if _DECIMAL.fullmatch(plain) else float("inf")
    if near in {float("inf"), float("-inf")}:
        return word
    return int(Decimal(repr(near))) if near.is_integer() and abs(near) < _SPELLED_OUT else near


def _whole(plain: str) -> int | None:
    found = _WHOLE.fullmatch(plain)
    if not found or found.lastgroup is None or len(found[found.lastgroup]) > _LONGEST:
        return None
    size = int(found[found.lastgroup], _BASES[found.lastgroup])
    return (-size if plain.startswith("-") else size) if size <= _LAST else None

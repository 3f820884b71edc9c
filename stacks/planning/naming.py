"""What things are called and how figures are put into words: in refusals, choices and reports alike."""

import json
import re

from stacks.config import Disaggregated, Layout, Setting

TIMES = "\N{MULTIPLICATION SIGN}"
_MINUTE, _HOUR = 60, 3600
_GIB = 2**30
_CROSS = re.compile(r"(?<=\d)x(?=[A-Z])")


def split(layout: Layout) -> str:
    """Return a split as people write it: TP8 and PP2 with a cross between, DP16 with expert parallel."""
    if isinstance(layout, Disaggregated):
        return f"prefill {split(layout.prefill)} / decode {split(layout.decode)}"
    sizes = (
        ("TP", layout.tensor_parallel),
        ("PP", layout.pipeline_parallel),
        ("DP", layout.data_parallel),
        ("DCP", layout.decode_context_parallel),
    )
    name = TIMES.join(f"{kind}{size}" for kind, size in sizes if size > 1) or "one rank"
    return f"{name} with expert parallel" if layout.expert_parallel else name


def titled(title: str) -> str:
    """Return what people call a layout, with the cross that a split is written with."""
    return _CROSS.sub(TIMES, title)


def of_engine(name: str) -> str:
    """Return what tells an engine's value from that of the other one; nothing where there is one engine."""
    return "" if name == "serve" else f" of {name}"


def many(number: int, what: str) -> str:
    """Return a number with its noun: 1 tray, 2 trays."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def gb(size: int) -> str:
    """Return bytes in GB, as disks, downloads and GPUs are sold."""
    return f"{size / 10**9:,.1f} GB" if size >= 10**9 else f"{size / 10**6:,.1f} MB"


def gib(size: int) -> str:
    """Return bytes of memory in GiB, as engines log it; in MiB where that is too little."""
    return f"{size / 2**30:,.2f} GiB" if size >= _GIB / 10 else f"{size / 2**20:,.2f} MiB"


def duration(seconds: float) -> str:
    """Return seconds as a person says them."""
    if seconds < 5 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"


def spelled(value: Setting | None) -> str:
    """Return a value as YAML has it."""
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value)

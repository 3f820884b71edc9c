"""How figures and places of a plan are put into words."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from stacks.planning.naming import TIMES, duration, gb, gib, many
from stacks.planning.plan import Checkpoint, EngineGroup, FleetPlan, Rank
from stacks.planning.sized import Range, Requests

DASH = "\N{EN DASH}"
COLUMNS = 98
"""Widest line of prose, so that a terminal shows it whole."""

NOT_OURS = "nothing here was run by us on a GPU"
_HUNDRED = 100


def stored(checkpoint: Checkpoint) -> str:
    """Return how much is read of a checkpoint, as exactly as it is known."""
    if checkpoint.stored_bytes is None:
        return "unknown"
    rounded = checkpoint.file_bytes is None and checkpoint.tensor_bytes is None
    return f"{'about ' if rounded else ''}{gb(checkpoint.stored_bytes)}"


def memory(span: Range) -> str:
    """Return a range of bytes in GiB; unknown where neither end is known."""
    high = gib(span.high)
    if span.low is None:
        return f"up to {high}" if span.high > 0 else "unknown"
    low = gib(span.low)
    if low == high:
        return high
    return f"{low[:-4]}{DASH}{high}" if low[-4:] == high[-4:] else f"{low} to {high}"


def whole(span: Range) -> str:
    """Return a range of whole numbers."""
    if span.low is None:
        return f"up to {span.high:,}" if span.high > 0 else "unknown"
    return f"{span.high:,}" if span.exact else f"{span.low:,}{DASH}{span.high:,}"


def at_once(requests: Requests) -> str:
    """Return how many requests of one length fit at once."""
    if requests.low is None:
        return f"up to {_fraction(requests.high)}" if requests.high > 0 else "unknown"
    low, high = _fraction(requests.low), _fraction(requests.high)
    return high if low == high else f"{low}{DASH}{high}"


def _fraction(number: float) -> str:
    return f"{number:,.1f}" if number < _HUNDRED else f"{number:,.0f}"


def loading(plan: FleetPlan) -> str:
    """Return how long the weights take to read."""
    low, high = plan.load.low, plan.load.high
    if high is None:
        return "unknown"
    if low is None or duration(low) == duration(high):
        return duration(high)
    return f"{duration(low)} to {duration(high)}"


def money(plan: FleetPlan, amount: float | None) -> str:
    """Return an amount in the currency of the plan, or unknown."""
    return "unknown" if amount is None else f"{amount:,.2f} {plan.cost.currency}"


def devices(plan: FleetPlan) -> str:
    """Return what computes: 8 GB300; in the lab the cores of hosts."""
    if plan.machine.accelerator == "cpu":
        return many(sum(host.cpus for host in plan.hosts), "core")
    return f"{len(plan.hosts) * plan.machine.gpus} {TIMES} {plan.machine.accelerator.upper()}"


def one(plan: FleetPlan) -> str:
    """Return what one cell of the picture is: a GPU, or a host of the lab."""
    return "host" if plan.machine.accelerator == "cpu" else "GPU"


def inner_fabric(plan: FleetPlan) -> str:
    """Return what joins the GPUs inside a machine."""
    return "Infinity Fabric" if plan.engine.variant == "rocm" else "NVLink"


_ROLES: Final = {
    "nvidia_driver": "driver",
    "fabric_manager": "Fabric Manager",
    "imex": "IMEX",
    "rdma": "RDMA",
    "dcgm": "DCGM",
}
"""Role → what it brings, of those whose names a picture has room for."""


def below_the_engine(plan: FleetPlan) -> str:
    """Return what machines get below the engine, in a few words; empty where nothing."""
    if plan.host_stack is None:
        return ""
    return ", ".join(words for role, words in _ROLES.items() if role in plan.host_stack.roles)


def places(group: EngineGroup, rank: Rank) -> str:
    """Return where the GPUs of a rank stand in the split: `PP 1, TP 0-7`."""
    parallel = group.parallel
    dimensions = (
        ("DP", parallel.data_parallel, [seat.data for seat in rank.seats]),
        ("PP", parallel.pipeline_parallel, [seat.pipeline for seat in rank.seats]),
        ("TP", parallel.tensor_parallel, [seat.tensor for seat in rank.seats]),
    )
    return ", ".join(f"{name} {_between(at)}" for name, size, at in dimensions if size > 1 and at) or "all"


def _between(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}{DASH}{high}"


def role(group: EngineGroup, rank: Rank) -> str:
    """Return what a rank is for."""
    if rank == group.head:
        return "head, serves the API"
    return "serves the API too" if rank.serves else "headless"


def waits(plan: FleetPlan) -> str:
    """Return what keeps the plan from being started, in a few words; empty where nothing does."""
    if plan.unpinned:
        return f"not startable yet: {many(len(plan.unpinned), 'pin')} missing"
    return "not startable yet" if plan.missing else ""


def standing(plan: FleetPlan) -> str:
    """Return the label of a plan, and whether it can start."""
    return "; ".join(filter(None, (plan.standing.label, waits(plan))))


def item(text: str, *, depth: int = 0) -> Iterator[str]:
    """Yield a list item, wrapped."""
    indent = "  " * depth
    yield from lines(text, first=f"{indent}- ", rest=f"{indent}  ")


def lines(text: str, *, first: str = "", rest: str = "") -> Iterator[str]:
    """Yield a paragraph, wrapped; addresses stay whole."""
    yield from textwrap.wrap(
        text,
        COLUMNS,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(*rows: Iterable[str]) -> Iterator[str]:
    """Yield a Markdown table whose columns stand below each other in a terminal too; first row: titles."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for i, row in enumerate(cells):
        yield f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |"
        if i == 0:
            yield f"|{'|'.join('-' * (width + 2) for width in widths)}|"

"""One machine: its name, its rank and its GPUs."""

from collections.abc import Iterator

from stacks.planning import FleetPlan
from stacks.planning.hosts import PlannedHost
from stacks.planning.plan import EngineGroup, Rank, Seat
from stacks.report.picture.colours import GROUPS, STAGES, segments
from stacks.report.picture.pen import FAINT, INK, MUTED, WHITE, Box, Drawing, chip, cut, rect, text
from stacks.report.words import below_the_engine, places

_PAD, _GAP, _HEAD, _FOOT = 12, 8, 56, 20
_CELL = Box(0, 0, 92, 98)
_LEAST = 260
_ROW = 4
"""GPUs in a row, where there is more than one machine."""


def machine(plan: FleetPlan, host: PlannedHost) -> Drawing:
    """Return one machine with its GPUs."""
    found = next(
        ((group, rank) for group in plan.groups for rank in group.ranks if rank.host == host.name), None
    )
    count = plan.machine.gpus
    columns = count if len(plan.hosts) == 1 else min(count, _ROW)
    width = max(2 * _PAD + columns * (_CELL.width + _GAP) - _GAP, _LEAST)
    cell_width = (width - 2 * _PAD + _GAP) / columns - _GAP
    rows = -(-count // columns)
    below = below_the_engine(plan)
    foot = _FOOT if below else 0
    box = Box(0, 0, width, _HEAD + rows * (_CELL.height + _GAP) - _GAP + _PAD + foot)
    shapes = [*_frame(box, host, found)]
    if below:
        shapes.append(text(_PAD, box.bottom - 11, cut(below, 11, width - 2 * _PAD), size=11, fill=MUTED))
    for gpu in range(count):
        column, row = gpu % columns, gpu // columns
        x, y = _PAD + column * (cell_width + _GAP), _HEAD + row * (_CELL.height + _GAP)
        shapes += _cell(Box(x, y, cell_width, _CELL.height), gpu, found, plan)
    return Drawing(box.width, box.height, shapes)


def _frame(box: Box, host: PlannedHost, found: tuple[EngineGroup, Rank] | None) -> Iterator[str]:
    colour, ground = GROUPS[found[0].name] if found else (FAINT, WHITE)
    yield rect(box, ground, stroke=colour, radius=12)
    yield text(_PAD, 25, cut(host.name, 16, box.width / 2, bold=True), size=16, bold=True)
    if found is None:
        yield text(_PAD, 45, "no rank", size=12, fill=MUTED)
        return
    group, rank = found
    right = box.width - _PAD
    for words, fill in (("API", INK) if rank.serves else ("", ""), (group.name, colour)):
        if words:
            badge = chip(0, 0, words, fill=fill)
            yield badge.at(right - badge.width, 11)
            right -= badge.width + 6
    role = "head" if rank == group.head else "headless" if not rank.serves else "serves too"
    where = places(group, rank)
    words = f"rank {rank.rank}, {role}: {where}" if where != "all" else f"rank {rank.rank}, {role}"
    yield text(_PAD, 45, cut(words, 12, box.width - 2 * _PAD), size=12, fill=MUTED)


def _cell(box: Box, gpu: int, found: tuple[EngineGroup, Rank] | None, plan: FleetPlan) -> Iterator[str]:
    seat = next((each for each in found[1].seats if each.gpu == gpu), None) if found else None
    yield rect(box, WHITE, stroke=FAINT, radius=8)
    if found is None or seat is None:
        yield text(box.middle, box.y + box.height / 2, "idle", size=12, fill=MUTED, anchor="middle")
        return
    group, rank = found
    if group.parallel.pipeline_parallel > 1:
        stage = Box(box.x + 8, box.y + 4, box.width - 16, 4)
        yield rect(stage, STAGES[seat.pipeline % len(STAGES)], radius=2)
    yield from _tank(Box(box.x + 10, box.y + 14, 20, box.height - 24), group)
    for i, words in enumerate(_place(group, seat)):
        yield text(box.x + 38, box.y + 27 + 18 * i, words, size=13, bold=True)
    below = f"core {rank.core}" if plan.provider == "lab" else f"GPU {gpu}"
    yield text(box.x + 38, box.bottom - 11, below, size=11, fill=MUTED)


def _place(group: EngineGroup, seat: Seat) -> list[str]:
    parallel = group.parallel
    dimensions = (
        ("DP", parallel.data_parallel, seat.data),
        ("PP", parallel.pipeline_parallel, seat.pipeline),
        ("TP", parallel.tensor_parallel, seat.tensor),
    )
    return [f"{name} {at}" for name, size, at in dimensions if size > 1] or ["whole"]


def _tank(box: Box, group: EngineGroup) -> Iterator[str]:
    """Yield the memory of one GPU, filled from the bottom up."""
    held = segments(group)
    scale, bottom = box.height / sum(each.size for each in held), box.bottom
    for each in held:
        height = each.size * scale
        bottom -= height
        yield rect(Box(box.x, bottom, box.width, height), each.fill)
    yield rect(box, "none", stroke=MUTED)

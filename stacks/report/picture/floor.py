"""The machines, the domains around them and the links between them."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from stacks.planning import FleetPlan
from stacks.planning.hosts import PlannedHost
from stacks.report.picture.colours import LINKS
from stacks.report.picture.machines import machine
from stacks.report.picture.pen import MUTED, PAPER, WHITE, Box, Drawing, cut, line, rect, text, wide
from stacks.report.words import inner_fabric

_GAP, _BUS, _SIDE = 24, 52, 30
_OUTLINE, _TITLE = 18, 34
_PILL = 22
_COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}
_MOST, _ONE_ROW = 4, 3
"""Machines in a row at most, and how many are never broken into rows."""


def floor(plan: FleetPlan) -> Drawing:
    """Return all machines, each in its domain, with what joins them."""
    domains = [list(hosts) for _, hosts in groupby(plan.hosts, key=lambda host: host.domain)]
    blocks = [(_engine(plan, hosts[0]), _domain(plan, index, hosts)) for index, hosts in enumerate(domains)]
    return _joined(_rows(blocks), plan.fabric.kind, plan.fabric.title)


def _engine(plan: FleetPlan, host: PlannedHost) -> str:
    """Return the engine of a machine; machines of one engine stand together."""
    return next((group.name for group in plan.groups for rank in group.ranks if rank.host == host.name), "")


def _domain(plan: FleetPlan, index: int, hosts: Sequence[PlannedHost]) -> Drawing:
    machines = [(_engine(plan, host), machine(plan, host)) for host in hosts]
    inner = _joined(_rows(machines), "nvlink", "NVLink")
    if plan.machine.domain == 1:
        return inner
    used = len(machines) * plan.machine.gpus
    most = "" if used == plan.machine.domain else f" of at most {plan.machine.domain}"
    words = f"{inner_fabric(plan)} domain {index}: {used} GPUs{most}"
    box = Box(0, 0, inner.width + 2 * _OUTLINE, inner.height + _TITLE + _OUTLINE)
    colour, _, _ = LINKS["nvlink"]
    shapes = (
        rect(box, WHITE, stroke=colour, radius=18, dashes="2 4"),
        text(_OUTLINE, 23, cut(words, 13, inner.width, bold=True), size=13, bold=True, fill=colour),
        inner.at(_OUTLINE, _TITLE),
    )
    return Drawing(box.width, box.height, shapes)


def _rows(drawings: Sequence[tuple[str, Drawing]]) -> list[list[Drawing]]:
    """Return the drawings in rows; a new engine starts a new row, unless all fit in one."""
    if len(drawings) <= _ONE_ROW:
        return [[each for _, each in drawings]]
    runs = [[each for _, each in run] for _, run in groupby(drawings, key=lambda named: named[0])]
    columns = _COLUMNS.get(max(map(len, runs)), _MOST)
    return [run[start : start + columns] for run in runs for start in range(0, len(run), columns)]


def _joined(rows: Sequence[Sequence[Drawing]], kind: str, title: str) -> Drawing:
    """Return the rows below each other, with a line below each that joins its drawings, and all of them."""
    placed = _places(rows)
    boxes = [box for row in placed for box in row]
    drawings = [each for row in rows for each in row]
    lines = _links(placed, kind, title) if len(boxes) > 1 else ()
    shapes = (*lines, *(each.at(box.x, box.y) for each, box in zip(drawings, boxes, strict=True)))
    below = _BUS - 12 if len(boxes) > 1 else 0
    return Drawing(max(box.right for box in boxes), max(box.bottom for box in boxes) + below, shapes)


def _places(rows: Sequence[Sequence[Drawing]]) -> list[list[Box]]:
    placed: list[list[Box]] = []
    y = 0.0
    for row in rows:
        x, boxes = (_SIDE if len(rows) > 1 else 0.0), []
        for each in row:
            boxes.append(Box(x, y, each.width, each.height))
            x += each.width + _GAP
        placed.append(boxes)
        y += max(box.height for box in boxes) + _BUS
    return placed


def _links(rows: Sequence[Sequence[Box]], kind: str, title: str) -> Iterator[str]:
    """Yield a line below each row with a branch up to each of its boxes, and one that joins the rows."""
    colour, width, dashes = LINKS[kind]
    levels = [max(box.bottom for box in row) + _BUS / 2 - 4 for row in rows]
    side = _SIDE / 3
    for row, level in zip(rows, levels, strict=True):
        start = side if len(rows) > 1 else row[0].middle
        yield line([(start, level), (row[-1].middle, level)], colour, width=width, dashes=dashes)
        for box in row:
            yield line([(box.middle, box.bottom), (box.middle, level)], colour, width=width, dashes=dashes)
    if len(rows) > 1:
        yield line([(side, levels[0]), (side, levels[-1])], colour, width=width, dashes=dashes)
    for row, level in zip(rows, levels, strict=True):
        yield from _pill((row[0].x + row[-1].right) / 2, level, title, colour, row[-1].right - row[0].x - 40)


def _pill(middle: float, level: float, title: str, colour: str, room: float) -> Iterator[str]:
    words = cut(title, 12, room, bold=True)
    width = wide(words, 12, bold=True) + 20
    box = Box(middle - width / 2, level - _PILL / 2, width, _PILL)
    yield rect(box, PAPER, stroke=colour, radius=_PILL / 2)
    yield text(middle, level + 4.5, words, size=12, bold=True, fill=MUTED, anchor="middle")

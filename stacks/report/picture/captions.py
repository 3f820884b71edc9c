"""The words around the machines: head, key figures, what the colours mean, memory, foot."""

from collections.abc import Iterator, Sequence

from stacks.planning import FleetPlan
from stacks.planning.naming import gib, many, of_engine, split
from stacks.planning.plan import EngineGroup
from stacks.report import reached
from stacks.report.access import gateway
from stacks.report.picture.colours import GROUPS, STAGES, Segment, segments
from stacks.report.picture.pen import (
    FAINT,
    INK,
    MUTED,
    WHITE,
    Box,
    Drawing,
    chip,
    cut,
    rect,
    text,
    wide,
    wrap,
)
from stacks.report.words import (
    NOT_OURS,
    at_once,
    devices,
    loading,
    memory,
    money,
    one,
    stored,
    waits,
)

_LABELS = {
    "documented on these versions": "#15803d",
    "run by Rackstack's own tests": "#15803d",
    "documented on other versions": "#b45309",
    "another engine's evidence": "#b45309",
}
_DOUBTFUL = "#b91c1c"
_TILE, _SPACE = 84, 12


def head(plan: FleetPlan, width: float) -> Drawing:
    """Return the name of the stack, what it serves, and its label."""
    draft = f" with draft {plan.draft.name}" if plan.draft else ""
    what = f"{plan.served_name} ({plan.checkpoint.name}{draft}) on {devices(plan)}: {_layouts(plan)}"
    shapes = [text(0, 26, cut(plan.stack, 28, width, bold=True), size=28, bold=True)]
    y = 54.0
    for words in wrap(what, 15, width):
        shapes.append(text(0, y, words, size=15, fill=MUTED))
        y += 21
    label = chip(0, 0, plan.standing.label, fill=_LABELS.get(plan.standing.label, _DOUBTFUL), size=12)
    shapes.append(label.at(0, y - 8))
    if obstacle := waits(plan):
        shapes.append(chip(0, 0, obstacle, fill=_DOUBTFUL, size=12).at(label.width + 8, y - 8))
    return Drawing(width, y + 14, shapes)


def _layouts(plan: FleetPlan) -> str:
    if len(plan.groups) == 1:
        return split(plan.groups[0].parallel)
    return ", ".join(f"{group.name} {split(group.parallel)}" for group in plan.groups)


def figures(plan: FleetPlan, width: float) -> Drawing:
    """Return the figures that a person looks for first, one tile each."""
    tiles = list(_tiles(plan))
    each = (width - _SPACE * (len(tiles) - 1)) / len(tiles)
    notes = [wrap(note, 11, each - 24)[:3] for _, _, note in tiles]
    height = _TILE + 14 * (max(map(len, notes)) - 1)
    shapes: list[str] = []
    for i, (title, value, _) in enumerate(tiles):
        shapes += _tile(Box(i * (each + _SPACE), 0, each, height), title, value, notes[i])
    return Drawing(width, height, shapes)


def _tiles(plan: FleetPlan) -> Iterator[tuple[str, str, str]]:
    group = plan.groups[-1]
    pools = group.parallel.data_parallel
    longest = group.cache.requests[0]
    size = stored(plan.checkpoint)
    yield "context", f"{plan.context:,}", "tokens of one request"
    of = "requests that fit" if len(plan.groups) == 1 else f"that fit in {group.name}"
    where = f", on each of {pools} ranks" if pools > 1 else ""
    limit = "" if group.max_num_seqs is None else f"; {group.max_num_seqs:,} are let in"
    yield of, at_once(longest), f"of {longest.tokens:,} tokens at once{where}{limit}"
    yield f"cache of a {one(plan)}", memory(group.memory.pool), f"of {gib(group.memory.capacity)}"
    yield "reading the weights", loading(plan), "of unknown size" if size == "unknown" else f"of {size}"
    yield "an hour", money(plan, plan.cost.per_hour), f"{many(plan.cost.gpus, one(plan))}"


def _tile(box: Box, title: str, value: str, note: Sequence[str]) -> Iterator[str]:
    room = box.width - 24
    size = next((each for each in (20, 18, 16, 14, 12) if wide(value, each, bold=True) <= room), 11)
    yield rect(box, WHITE, stroke=FAINT, radius=10)
    yield text(box.x + 12, box.y + 23, cut(title, 12, room), size=12, fill=MUTED)
    yield text(box.x + 12, box.y + 49, cut(value, size, room, bold=True), size=size, bold=True)
    for i, words in enumerate(note):
        yield text(box.x + 12, box.y + 69 + 14 * i, words, size=11, fill=MUTED)


def colours(plan: FleetPlan, width: float) -> Drawing:
    """Return which engine is where, and what the stages are marked with."""
    entries: list[tuple[str, str]] = []
    for group in plan.groups:
        hosts = (
            f"{group.ranks[0].host} to {group.ranks[-1].host}" if len(group.ranks) > 1 else group.head.host
        )
        entries.append((GROUPS[group.name][0], f"{group.name} {split(group.parallel)} on {hosts}"))
        entries += [
            (STAGES[i % len(STAGES)], f"stage {i}")
            for i in range(group.parallel.pipeline_parallel)
            if group.parallel.pipeline_parallel > 1
        ]
    apart = next((group.ports.side_channel for group in plan.groups if group.ports.side_channel), None)
    rows = _flow(entries, width)
    shapes, height = list(_entries(rows)), 22.0 * len(rows)
    if apart:
        words = f"prefill reads the prompt and hands its cache to decode (side channel from port {apart} on)"
        shapes.append(text(0, height + 14, cut(words, 12, width), size=12, fill=MUTED))
        height += 22
    return Drawing(width, height, shapes)


def holdings(plan: FleetPlan, width: float) -> Drawing:
    """Return what a GPU holds, one bar for each engine."""
    shapes, y = [], 0.0
    for group in plan.groups:
        bar = _holding(plan, group, width)
        shapes.append(bar.at(0, y))
        y += bar.height + 18
    return Drawing(width, y - 18, shapes)


def _holding(plan: FleetPlan, group: EngineGroup, width: float) -> Drawing:
    held = segments(group)
    title = f"What the fullest {one(plan)}{of_engine(group.name)} holds of its {gib(group.memory.capacity)}"
    rows = _flow([(each.fill, f"{each.name} {gib(each.size)}") for each in held], width - 32)
    box = Box(0, 0, width, 104 + 22 * len(rows))
    shapes = [
        rect(box, WHITE, stroke=FAINT, radius=12),
        text(16, 27, title, size=14, bold=True),
        *_bar(Box(16, 40, width - 32, 30), held),
        *(f'<g transform="translate(16 80)">{shape}</g>' for shape in _entries(rows)),
        text(16, box.height - 12, cut(_caution(group), 11, width - 32), size=11, fill=MUTED),
    ]
    return Drawing(width, box.height, shapes)


def _caution(group: EngineGroup) -> str:
    unknown = [part.name for part in group.memory.parts if memory(part.size) == "unknown"]
    left_out = f" Not drawn, for its size is unknown: {', '.join(unknown)}." if unknown else ""
    return f"Drawn with each part at its largest and the cache at its smallest.{left_out}"


def _bar(box: Box, held: list[Segment]) -> Iterator[str]:
    scale, x = box.width / sum(each.size for each in held), box.x
    for each in held:
        part = Box(x, box.y, each.size * scale, box.height)
        yield rect(part, each.fill)
        if wide(each.name, 12, bold=True) + 12 <= part.width:
            fill = MUTED if each.name == "not used" else WHITE
            yield text(part.middle, box.y + 20, each.name, size=12, bold=True, fill=fill, anchor="middle")
        x = part.right
    yield rect(box, "none", stroke=MUTED, radius=2)


def _flow(entries: list[tuple[str, str]], width: float) -> list[list[tuple[str, str]]]:
    """Return the entries of a legend in rows that fit."""
    rows: list[list[tuple[str, str]]] = [[]]
    x = 0.0
    for fill, words in entries:
        shown = cut(words, 12, width - 24)
        need = wide(shown, 12) + 44
        if rows[-1] and x + need > width:
            rows.append([])
            x = 0
        rows[-1].append((fill, shown))
        x += need
    return rows


def _entries(rows: list[list[tuple[str, str]]]) -> Iterator[str]:
    for i, row in enumerate(rows):
        x = 0.0
        for fill, words in row:
            yield rect(Box(x, 22 * i + 3, 13, 13), fill, radius=3)
            yield text(x + 20, 22 * i + 14, words, size=12, fill=INK)
            x += wide(words, 12) + 44


def _paid(plan: FleetPlan) -> str:
    cost = plan.cost
    if cost.per_hour is None:
        return f"Cost: unknown, because {cost.source}."
    hour, evaluation = money(plan, cost.per_hour), money(plan, cost.per_evaluation)
    return f"An hour: {hour}; loading and one evaluation: {evaluation}; {cost.source}."


def _reached(plan: FleetPlan) -> Iterator[str]:
    said = "; ".join(reached.sentences(plan)).replace("`", "")
    if said:
        yield said


def foot(plan: FleetPlan, width: float) -> Drawing:
    """Return what is known of the layout, what loading and an evaluation take, and what nobody tried."""
    paragraphs = (
        f"{NOT_OURS[0].upper()}{NOT_OURS[1:]}.",
        f"{plan.standing.sentence[0].upper()}{plan.standing.sentence[1:]}.",
        f"Reading the weights: {loading(plan)}; {plan.load.assumes}.",
        f"G{gateway(plan.access).replace('`', '')[1:]}.",
        _paid(plan),
        *(f"{each[0].upper()}{each[1:]}." for each in _reached(plan)),
    )
    shapes, y = [], 0.0
    for i, paragraph in enumerate(paragraphs):
        for words in wrap(paragraph, 12, width, bold=i == 0):
            y += 17
            shapes.append(text(0, y, words, size=12, bold=i == 0, fill=INK if i == 0 else MUTED))
        y += 5
    return Drawing(width, y, shapes)

"""The plan as a picture that stands alone: no scripts, no fonts to load, its own ground."""

from xml.sax.saxutils import escape

from stacks.planning import FleetPlan
from stacks.planning.naming import many, split
from stacks.report.picture.captions import colours, figures, foot, head, holdings
from stacks.report.picture.floor import floor
from stacks.report.picture.pen import FAINT, PAPER, Box, rect
from stacks.report.words import NOT_OURS, devices, standing

_EDGE, _LEAST, _BETWEEN = 28, 900, 22
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Verdana, sans-serif"


def svg(plan: FleetPlan) -> str:
    """Return the plan as an SVG document."""
    machines = floor(plan)
    inner = max(machines.width, _LEAST)
    shapes, y = [], float(_EDGE)
    for part in (head, figures, colours):
        drawn = part(plan, inner)
        shapes.append(drawn.at(_EDGE, y))
        y += drawn.height + _BETWEEN
    shapes.append(machines.at(_EDGE + (inner - machines.width) / 2, y))
    y += machines.height + _BETWEEN
    for part in (holdings, foot):
        drawn = part(plan, inner)
        shapes.append(drawn.at(_EDGE, y))
        y += drawn.height + _BETWEEN
    return _document(plan, Box(0, 0, inner + 2 * _EDGE, y - _BETWEEN + _EDGE), shapes)


def _document(plan: FleetPlan, page: Box, shapes: list[str]) -> str:
    size = f'width="{page.width:g}" height="{page.height:g}"'
    title = f"{plan.stack}: {plan.served_name} on {devices(plan)}"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {page.width:g} {page.height:g}" {size}',
            f'  role="img" aria-labelledby="title what" font-family="{_FONTS}">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="what">{escape(_described(plan))}</desc>',
            rect(page, PAPER, stroke=FAINT, radius=16),
            *shapes,
            "</svg>",
            "",
        )
    )


def _described(plan: FleetPlan) -> str:
    engines = "; ".join(
        f"{group.name} is split {split(group.parallel)} over {', '.join(rank.host for rank in group.ranks)}"
        for group in plan.groups
    )
    return (
        f"{many(len(plan.hosts), plan.machine.unit)} joined by {plan.fabric.title}. {engines}. "
        f"{standing(plan)}; {NOT_OURS}."
    )

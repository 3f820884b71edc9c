"""Shapes and words of an SVG, with everything escaped and no word longer than its room."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from xml.sax.saxutils import escape, quoteattr

INK: Final = "#0f172a"
MUTED: Final = "#475569"
FAINT: Final = "#cbd5e1"
PAPER: Final = "#f8fafc"
WHITE: Final = "#ffffff"

# Widths of DejaVu Sans, the widest of the fonts that may stand in, in hundredths of the font size.
_NARROW: Final = frozenset("fijlrtI.,:;|'!()[]/ ·-")
_WIDE: Final = frozenset("mwMW@%&\N{MULTIPLICATION SIGN}")
_HUNDREDTHS: Final = (42, 64, 72, 100)
_BOLD: Final = 1.13


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels; x and y are its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Return the x of its right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Return the y of its lower side."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Return the x of its centre."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Drawing:
    """Shapes from the origin on, and the room that they take in pixels."""

    width: float
    height: float
    shapes: Sequence[str]

    def at(self, x: float, y: float) -> str:
        """Return the shapes moved to a place."""
        return "\n".join((f'<g transform="translate({x:g} {y:g})">', *self.shapes, "</g>"))


def rect(box: Box, fill: str, *, stroke: str = "none", radius: float = 0, dashes: str = "none") -> str:
    """Return a rectangle."""
    return (
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="{radius:g}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.5" stroke-dasharray="{dashes}"/>'
    )


def line(
    points: Sequence[tuple[float, float]], stroke: str, *, width: float = 2, dashes: str = "none"
) -> str:
    """Return a line through points."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="{width:g}" '
        f'stroke-linecap="round" stroke-linejoin="round" stroke-dasharray="{dashes}"/>'
    )


def text(  # noqa: PLR0913 - what a text element takes
    x: float,
    y: float,
    words: str,
    *,
    size: float = 13,
    bold: bool = False,
    fill: str = INK,
    anchor: Literal["start", "middle", "end"] = "start",
) -> str:
    """Return one line of text; y is its baseline."""
    weight = "700" if bold else "400"
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" font-weight="{weight}" fill="{fill}" '
        f"text-anchor={quoteattr(anchor)}>{escape(words)}</text>"
    )


def wide(words: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text, rather too much than too little."""
    hundredths = sum(_HUNDREDTHS[_class(letter)] for letter in words)
    return hundredths / 100 * size * (_BOLD if bold else 1)


def _class(letter: str) -> int:
    if letter in _NARROW:
        return 0
    if letter in _WIDE or ord(letter) > 0x2FF:  # noqa: PLR2004 - past the Latin letters
        return 3
    return 2 if letter.isupper() else 1


def cut(words: str, size: float, room: float, *, bold: bool = False) -> str:
    """Return the words, shortened where they do not fit."""
    if wide(words, size, bold=bold) <= room:
        return words
    while words and wide(f"{words}…", size, bold=bold) > room:
        words = words[:-1]
    return f"{words.rstrip()}…"


def wrap(words: str, size: float, room: float, *, bold: bool = False) -> list[str]:
    """Return the words in lines that fit; a word that is too long is shortened."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and wide(longer, size, bold=bold) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return [cut(each, size, room, bold=bold) for each in lines]


def chip(x: float, y: float, words: str, *, fill: str, size: float = 11) -> Drawing:
    """Return words on a filled, rounded ground, from its upper left corner on."""
    box = Box(x, y, wide(words, size, bold=True) + 14, size + 9)
    shapes = (
        rect(box, fill, radius=box.height / 2),
        text(box.middle, y + size + 2.5, words, size=size, bold=True, fill=WHITE, anchor="middle"),
    )
    return Drawing(box.width, box.height, shapes)

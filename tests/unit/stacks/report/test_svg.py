"""The picture stands alone, shows every GPU, and no word of it is cut off or covered by another."""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from stacks.planning import FleetPlan
from stacks.report import svg
from stacks.report.picture.colours import GROUPS, STAGES, segments
from stacks.report.picture.pen import Box, cut, wide, wrap
from tests.unit.stacks.report.conftest import MADE_UP, ROOT
from tools.report import planned

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(element: ET.Element, x: float = 0, y: float = 0) -> Iterator[tuple[str, Box]]:
    """Yield every text with the room that it takes on the page."""
    if moved := re.match(r"translate\((\S+) (\S+)\)", element.get("transform", "")):
        x, y = x + float(moved[1]), y + float(moved[2])
    if element.tag == f"{NAMESPACE}text":
        size, words = float(element.attrib["font-size"]), element.text or ""
        width = wide(words, size, bold=element.get("font-weight") == "700")
        left = {"start": 0.0, "middle": width / 2, "end": width}[element.get("text-anchor", "start")]
        at = Box(float(element.attrib["x"]) + x - left, float(element.attrib["y"]) + y - size, width, size)
        yield words, at
    for child in element:
        yield from texts(child, x, y)


def page(picture: str) -> tuple[ET.Element, Box]:
    root = ET.fromstring(picture)  # noqa: S314 - our own document
    return root, Box(0, 0, float(root.attrib["width"]), float(root.attrib["height"]))


def covers(one: Box, other: Box) -> bool:
    return one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom


def assert_readable(picture: str) -> None:
    root, paper = page(picture)
    found = list(texts(root))
    outside = [
        words for words, at in found if at.x < 8 or at.right > paper.right - 8 or at.bottom > paper.bottom
    ]
    covered = [(one, other) for (one, a), (other, b) in combinations(found, 2) if covers(a, b)]
    assert outside == []
    assert covered == []


def test_every_shipped_stack_is_readable(shipped: FleetPlan) -> None:
    assert_readable(svg(shipped))


def test_every_shape_is_readable(made_up: FleetPlan) -> None:
    assert_readable(svg(made_up))


def test_long_and_odd_names_are_escaped_and_fit(made_up: FleetPlan) -> None:
    odd = {
        "stack": 'a<b>&"c' * 20,
        "served_name": "someone/" + "W" * 200,
        "machine": made_up.machine.model_copy(update={"accelerator": "&" * 40}),
        "fabric": made_up.fabric.model_copy(update={"title": "<NVLink> & " * 30}),
    }
    assert_readable(svg(made_up.model_copy(update=odd)))


def test_every_gpu_is_shown_at_its_place(made_up: FleetPlan) -> None:
    root, _ = page(svg(made_up))
    found = [words for words, _ in texts(root)]
    seats = [seat for rank in made_up.ranks for seat in rank.seats]
    assert sum(bool(re.fullmatch(r"GPU \d", words)) for words in found) == len(seats)
    for group in made_up.groups:
        if group.parallel.tensor_parallel > 1:
            for tensor in range(group.parallel.tensor_parallel):
                assert f"TP {tensor}" in found
    assert found.count("idle") == len(made_up.hosts) * made_up.machine.gpus - len(seats)


def test_heads_engines_and_domains_are_marked() -> None:
    root, _ = page(svg(MADE_UP["six trays apart"]))
    found = [words for words, _ in texts(root)]
    assert (found.count("API"), found.count("prefill"), found.count("decode")) == (2, 2, 4)
    assert "NVLink domain 0: 24 GPUs of at most 72" in found
    assert len({colour for pair in GROUPS.values() for colour in pair}) == 6


def test_stages_are_told_apart() -> None:
    picture = svg(MADE_UP["three trays"])
    assert all(picture.count(STAGES[i]) == 5 for i in range(3))


def test_machines_of_other_domains_are_joined_by_the_fabric() -> None:
    found = [words for words, _ in texts(page(svg(MADE_UP["two nodes"]))[0])]
    assert {"RDMA", "NVLink domain 0: 8 GPUs", "NVLink domain 1: 8 GPUs"} <= set(found)


def test_memory_is_drawn_to_scale() -> None:
    held = MADE_UP["two trays"].groups[0]
    assert sum(each.size for each in segments(held)) == held.memory.capacity
    assert [each.name for each in segments(held)] == ["weights", "NCCL", "cache", "not used"]


def test_what_is_unknown_is_said_not_drawn() -> None:
    picture = svg(planned("kimi-k3-gb300-dspark"))
    assert "(kimi-k3-mxfp4 with draft kimi-k3-dspark)" in picture
    assert "Not drawn, for its size is unknown: draft." in picture


def test_it_stands_alone_and_says_what_it_shows(shipped: FleetPlan) -> None:
    picture = svg(shipped)
    root, _ = page(picture)
    assert not re.search(r"<(script|image|style|foreignObject|use)|href|url\(|@font-face", picture)
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "title what")
    title, described = root.find(f"{NAMESPACE}title"), root.find(f"{NAMESPACE}desc")
    assert title is not None
    assert (title.text or "").startswith(f"{shipped.stack}: {shipped.served_name} on ")
    assert described is not None
    assert "nothing here was run by us on a GPU" in (described.text or "")
    assert "Nothing here was run by us on a GPU." in [words for words, _ in texts(root)]


def test_the_committed_picture_is_what_the_plan_draws() -> None:
    committed = Path(ROOT / "docs/kimi-k3-gb300.svg").read_text()
    assert committed == svg(planned("kimi-k3-gb300")), (
        "make report STACK=kimi-k3-gb300 FORMAT=svg >docs/kimi-k3-gb300.svg"
    )


@pytest.mark.parametrize(("room", "shown"), [(1000, "eight GPUs"), (50, "eight…"), (1, "…")])
def test_words_are_cut_to_their_room(room: float, shown: str) -> None:
    assert cut("eight GPUs", 12, room) == shown


def test_words_are_wrapped_to_their_room() -> None:
    wrapped = wrap("one two three four", 12, 70)
    assert " ".join(wrapped) == "one two three four"
    assert all(wide(each, 12) <= 70 for each in wrapped)

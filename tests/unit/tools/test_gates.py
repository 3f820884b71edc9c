"""The pages of gates are the table of gates."""

from tools.gates import FOLDER, pages


def test_the_pages_are_up_to_date() -> None:
    there = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert there == pages(), "write them again: python -m tools.gates"

"""The page of gates is the table of gates."""

from tools.gates import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "write it again: python -m tools.gates"

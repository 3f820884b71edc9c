"""The page of rules is the table of rules."""

from tools.rules import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "write it again: python -m tools.rules"

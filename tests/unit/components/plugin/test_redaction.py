"""Known secrets are blanked."""

from components.plugin.redaction import Redactor


def test_every_known_secret_is_blanked_the_longest_first() -> None:
    redactor = Redactor()
    redactor.learn(["rk-12345", "rk-12345-and-more"])
    assert redactor.clean("got rk-12345-and-more, then rk-12345") == "got [secret], then [secret]"


def test_the_lines_of_a_secret_are_secrets() -> None:
    redactor = Redactor()
    redactor.learn(["-----BEGIN\nAAAABBBB\n"])
    assert redactor.clean("line AAAABBBB") == "line [secret]"


def test_a_string_too_short_to_be_a_secret_is_left_alone() -> None:
    redactor = Redactor()
    redactor.learn(["a", ""])
    assert redactor.clean("a fact") == "a fact"

"""Known secrets are blanked."""

import base64
import json

import pytest

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


@pytest.mark.parametrize("before", ["", "u", "user:", "Bearer "])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_in_base64_is_blanked_wherever_it_begins(before: str, encode: type) -> None:
    redactor = Redactor()
    redactor.learn(["what??>>~~nobody-sees"])
    shown = encode(f"{before}what??>>~~nobody-sees".encode()).decode()
    cleaned = redactor.clean(shown)
    assert "[secret]" in cleaned
    assert len(cleaned.replace("[secret]", "")) <= len(before) * 4 / 3 + 8


def test_a_secret_in_json_is_blanked() -> None:
    redactor = Redactor()
    redactor.learn(['quote"and\\slash'])
    assert redactor.clean(json.dumps(['quote"and\\slash'])) == '["[secret]"]'


def test_what_looks_like_a_secret_is_blanked_where_a_text_is_kept() -> None:
    redactor = Redactor()
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
    text = f"k rk-abcdefgh12 h Authorization: Bearer sk.abcdefgh1 p {pem} end"
    assert redactor.scrub(text) == "k [secret] h Authorization: Bearer [secret] p [secret] end"
    assert redactor.scrub("-----BEGIN PRIVATE KEY-----\nMII, cut off") == "[secret]"
    assert redactor.scrub("a work-rk-1 and a Bearer of news") == "a work-rk-1 and a Bearer of news"

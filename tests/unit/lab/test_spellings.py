"""A secret is found in whatever it was put into."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.spellings import found, patterns, spellings

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "rk-Marker+of/the~first_key=="  # noqa: S105 -- made up
PEM = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\nAgEGCCqGSM49AwEHBG0w\n-----END PRIVATE KEY-----\n"
LINES = PEM.splitlines()


@pytest.mark.parametrize(
    "write",
    [
        str,
        lambda text: quote(text, safe=""),
        lambda text: quote(text, safe="").replace("%2B", "%2b").replace("%2F", "%2f").replace("%3D", "%3d"),
        quote_plus,
        json.dumps,
        lambda text: json.dumps(json.dumps(text)),
        lambda text: json.dumps(text).replace("/", "\\/"),
        lambda text: text.encode().hex(),
    ],
    ids=["plain", "url", "url in small letters", "form", "json", "json in json", "php", "hex"],
)
def test_every_spelling_is_found(write: Callable[[str], str]) -> None:
    assert found({"key": SECRET}, f"before {write(SECRET)} after".encode()) == ["key"]


@given(before=st.binary(max_size=9), after=st.binary(max_size=9))
def test_base64_is_found_at_every_offset(before: bytes, after: bytes) -> None:
    raw = before + SECRET.encode() + after
    assert found({"key": SECRET}, base64.b64encode(raw)) == ["key"]
    assert found({"key": SECRET}, base64.urlsafe_b64encode(raw)) == ["key"]


@pytest.mark.parametrize("line", LINES[1:3])
def test_one_line_of_a_key_betrays_it(line: str) -> None:
    assert found({"pem": PEM}, line.encode()) == ["pem"]
    assert found({"pem": PEM}, base64.b64encode(b"x" + line.encode())) == ["pem"]


def test_what_all_keys_share_betrays_none() -> None:
    assert found({"pem": PEM}, f"{LINES[0]}\nsomething else\n{LINES[-1]}".encode()) == []


@given(other=st.binary(min_size=16, max_size=200))
def test_other_bytes_are_no_secret(other: bytes) -> None:
    assert found({"key": SECRET, "pem": PEM}, other) == []


def test_the_patterns_for_grep_have_one_spelling_a_line() -> None:
    lines = set(patterns([SECRET, PEM]).encode().splitlines())
    assert lines == {each for secret in (SECRET, PEM) for each in spellings(secret) if b"\n" not in each}
    assert b"" not in lines

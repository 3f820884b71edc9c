"""Arguments and variables arrive as they were meant: read back by systemd's own rules.

The readers below follow systemd's manual (systemd.syntax, systemd.service, systemd.exec) and not the filters.
"""

import re
from collections.abc import Iterator

import pytest
from ansible.errors import AnsibleFilterError  # type: ignore[import-untyped] # Ansible ships no types
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.playbooks.files import program

filters = program("filter_plugins/systemd.py")
ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
AWKWARD = st.sampled_from(
    ["%", "%%", "%n", "$", "$$", "${A}", '"', "'", "\\", "\\x41", " ", "\n", "\t", ";", "#", "{{"]
)
TEXT = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: not filters.NO_TEXT.search(text))
WORD = st.lists(AWKWARD | TEXT, max_size=6).map("".join)


def words(line: str) -> Iterator[str]:
    """Yield the words of a command line: quotes, C escapes, `%%`, and `;` alone between commands."""
    line = line.removeprefix(":")
    while line := line.lstrip(" \t"):
        assert not re.match(r";(\s|$)", line), "a second command begins"
        word = ""
        quote = ""
        while line and (quote or line[0] not in " \t"):
            head, line = line[0], line[1:]
            if head == "\\":
                assert line, "the line goes on in the next"
                escaped, line = line[0], line[1:]
                if escaped == "x":
                    word, line = word + chr(int(line[:2], 16)), line[2:]
                else:
                    word += ESCAPES.get(escaped, escaped)
            elif head == quote:
                quote = ""
            elif head in "\"'" and not quote:
                quote = head
            elif head == "%":
                assert line.startswith("%"), "a specifier is expanded"
                word, line = word + "%", line[1:]
            else:
                word += head
        assert not quote, "a quote is not closed"
        yield word


def variables(text: str) -> dict[str, str]:
    """Return what an environment file sets, where every value is in double quotes."""
    found = {}
    while text:
        name, _, text = text.partition('="')
        assert "\n" not in name
        value = ""
        while not text.startswith('"'):
            if text[0] == "\\" and text[1] in '"\\`$':
                text = text[1:]
            value, text = value + text[0], text[1:]
        found[name] = value
        assert text[1] == "\n"
        text = text[2:]
    return found


@given(st.lists(WORD))
@example([""])
@example([";"])
@example(["a", ";", "b"])
@example(["\\"])
def test_a_command_starts_exactly_its_arguments(arguments: list[str]) -> None:
    argv = ["/opt/engine/bin/vllm", *arguments]
    line = filters.systemd_command(argv)
    assert "\n" not in line
    assert list(words(line)) == argv


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True), WORD))
def test_an_environment_sets_exactly_its_variables(environment: dict[str, str]) -> None:
    assert variables(filters.systemd_environment(environment)) == environment


@pytest.mark.parametrize("text", ["a\0b", "\udc80", "\ufffe", "\U0010ffff", 5, None, True])
def test_what_systemd_cannot_hold_is_refused(text: object) -> None:
    with pytest.raises(AnsibleFilterError, match=r"leave it out|quote it in YAML"):
        filters.systemd_command(["/bin/true", text])
    with pytest.raises(AnsibleFilterError, match=r"leave it out|quote it in YAML"):
        filters.systemd_environment({"NAME": text})


@pytest.mark.parametrize("argv", [[], ["vllm"], [""], ["-/bin/true"]])
def test_a_program_needs_its_absolute_path(argv: list[str]) -> None:
    with pytest.raises(AnsibleFilterError, match="absolute path"):
        filters.systemd_command(argv)


@pytest.mark.parametrize("name", ["", "A B", "1A", "A=B", "Ä"])
def test_a_variable_needs_a_name_that_programs_can_read(name: str) -> None:
    with pytest.raises(AnsibleFilterError, match="use letters"):
        filters.systemd_environment({name: "x"})

"""The engine's own first error, found in its journal. Pure.

An engine that fails prints the same failure several times: the worker that met it, then every process above
it in words that only point back. The first traceback that states a cause is the one to show.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

LONGEST: Final = 400
"""Characters of a quoted error."""

_ENTRY = re.compile(r"^(?P<time>\d+\.\d+) \S+ .*?\[\d+\]: ?(?P<text>.*)$")
_HEAD = re.compile(
    r"^(?:\((?P<source>\w+ pid=\d+)\) )?"
    r"(?:[A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d (?P<place>\[\S+:\d+\]) ?)?(?P<body>.*)$"
)
_TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"^(?:\w+\.)*(?P<said>[A-Za-z_]\w*(?:: .*)?)$")
_LINKS = {
    "The above exception was the direct cause of the following exception:": False,
    "During handling of the above exception, another exception occurred:": True,
}
"""What stands between two linked tracebacks → whether the later one says more."""
_QUOTED = re.compile(r"Worker failed with error '(?P<cause>.*?)(?:', please check.*)?$")
_POINTS_ELSEWHERE = re.compile(
    r"EngineDeadError|[Ss]ee (?:root cause|(?:the )?stack trace)|remote worker (?:crashing|hanging)"
    r"|Connection (?:closed|reset) by peer"
)
_COMPILER = re.compile(r"\bfatal error: .*")
_UNRAISED = re.compile(r"^.*?(?:\bvllm\b.*: error: |exited unexpectedly|died unexpectedly).*$")
_STATUS_LINE = re.compile(r"^(?:INFO|WARNING|ERROR)[: ]")


@dataclass(frozen=True)
class Line:
    """One line of a journal.

    Attributes:
        time: Seconds since the epoch.
        text: What the engine printed.
    """

    time: float
    text: str


@dataclass(frozen=True)
class Complaint:
    """The first error of one engine process tree.

    Attributes:
        time: Seconds since the epoch.
        said: The engine's own words, in one line.
        own: Whether it states a cause, rather than point to an error elsewhere.
    """

    time: float
    said: str
    own: bool


@dataclass(frozen=True)
class _Raised:
    time: float
    said: str
    later_says_more: bool | None
    """How it is linked to the exception before it; None where it is not."""


def lines(text: str) -> tuple[Line, ...]:
    """Return the lines of what `journalctl -o short-unix` printed; its own remarks are left out."""
    entries = (_ENTRY.match(line) for line in text.splitlines())
    return tuple(Line(float(entry["time"]), entry["text"]) for entry in entries if entry)


def last_words(journal: Sequence[Line]) -> str | None:
    """Return the last line that says something, without the engine's prefixes."""
    bodies = (_head(line)[1].strip() for line in reversed(journal))
    return next((_short(body) for body in bodies if body), None)


def first_complaint(journal: Sequence[Line]) -> Complaint | None:
    """Return the engine's own first error; None where the journal holds none."""
    raised = sorted(
        (each for record in _records(journal) for each in _causes(record)), key=lambda each: each.time
    )
    for each in raised:
        if (said := _unwrapped(each.said)) is not None:
            return Complaint(each.time, _short(said), own=True)
    return _unraised(journal) or (
        Complaint(raised[0].time, _short(raised[0].said), own=False) if raised else None
    )


def _records(journal: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines of each log record; processes write between each other's lines."""
    open_records: dict[str, tuple[str, list[Line]]] = {}
    for line in journal:
        (source, place), body = _head(line)
        before = open_records.get(source)
        if before is None or before[0] != place:
            if before is not None:
                yield before[1]
            open_records[source] = (place, [])
        open_records[source][1].append(Line(line.time, body))
    yield from (record for _, record in open_records.values())


def _head(line: Line) -> tuple[tuple[str, str], str]:
    """Return who printed a line at which place of the source, and what follows the prefixes."""
    head = _HEAD.match(line.text)
    if head is None:
        return ("", ""), line.text
    return (head["source"] or "", head["place"] or ""), head["body"]


def _causes(record: Sequence[Line]) -> list[_Raised]:
    """Return the exceptions of a record, one for each chain of linked tracebacks."""
    causes: list[_Raised] = []
    for raised in _raised(record):
        if raised.later_says_more is None or not causes:
            causes.append(raised)
        elif raised.later_says_more:
            causes[-1] = raised
    return causes


def _raised(record: Sequence[Line]) -> Iterator[_Raised]:
    """Yield every exception that a traceback of the record ends with."""
    link: bool | None = None
    for number, line in enumerate(record):
        if line.text in _LINKS:
            link = _LINKS[line.text]
        elif line.text == _TRACEBACK:
            ends = next((each for each in range(number + 1, len(record)) if _ends(record[each].text)), None)
            if ends is not None and (exception := _EXCEPTION.match(record[ends].text)):
                yield _Raised(line.time, exception["said"] + _compiler(record[ends + 1 :]), link)
            link = None


def _ends(text: str) -> bool:
    return bool(text) and not text[0].isspace()


def _compiler(after: Sequence[Line]) -> str:
    """Return what a compiler said in the lines of an exception's message."""
    for line in after:
        if line.text == _TRACEBACK or _STATUS_LINE.match(line.text):
            return ""
        if said := _COMPILER.search(line.text):
            return f" ({said[0]})"
    return ""


def _unwrapped(said: str) -> str | None:
    """Return the cause that an exception states or quotes; None where it only points to another."""
    if quoted := _QUOTED.search(said):
        said = quoted["cause"]
    return None if _POINTS_ELSEWHERE.search(said) else said


def _unraised(journal: Sequence[Line]) -> Complaint | None:
    """Return the first error that came without a traceback: a refused argument, a process that vanished."""
    for line in journal:
        body = _head(line)[1]
        if _UNRAISED.match(body):
            return Complaint(line.time, _short(body), own=False)
    return None


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"

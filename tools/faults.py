"""Writes docs/faults.md from the table of faults: `python -m tools.faults [FOLDER]`.

With FOLDER, where tests with RACKSTACK_FAULT_EXAMPLES=FOLDER left what was really printed, the table's
examples are taken from there first.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests/cases/faults"
PAGE = ROOT / "docs/faults.md"
# What differs from run to run, and what stands for it on the page.
PLAIN = {
    r"/\S+/(test-[0-9a-f]+)-": r".state/runs/\1-",
    r"/\S*/\.state/": ".state/",
    r"/\w\S*/backend/": "/srv/backend/",
    r"created by \S+": "created by root@station",
    r"ago on \S+": "ago on station",
    r"test-[0-9a-f]{6}": "lab-3f2a1c",
    r"\b10\.\d+\.\d+\.(\d+)": r"10.213.0.\1",
}
MOST_LINES = 4
TELLING = 8
"""Characters from which a text picks out the lines of an example; ` has ` is in many."""
# As things happen; what is not named here comes last.
ORDER = (
    "stack_file",
    "claims",
    "machines",
    "mirror",
    "hosts",
    "host_stack",
    "gates",
    "odd",
    "ready",
    "serving",
    "pulumi",
    "destroy",
)
HEAD = """# Faults: what they print, and what to do

Written by `python -m tools.faults` from `tests/cases/faults`; do not edit it by hand. The small print names
the test that holds a row. Where it names none, a test of `tests/lab/faults` makes the fault on real lab hosts
and holds what is printed: `make lab` runs it or, as it takes long, only `make faults`, and then it says so.

**In a hurry:** search this page for a few words of the sentence that you see. A failed `up` says what was
found, the rule and the way out; where a playbook or the readiness failed, it also names an
[archive](bundle.md) of all that could be seen. Nothing is lost: mend it, and run the same command again. It
does only what is left to do. Was `up` itself killed, or does it say that somebody holds the stack:
[recover.md](recover.md).

To look at a host of the lab: `ssh -i /var/lib/rackstack-lab/<fleet>/network/id_ed25519 root@<address>`, with
addresses from `make outputs`; then `journalctl --unit rackstack-rank.service`. A failed run of Ansible is
kept in `.state/runs/`, without secrets.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_contents(), *(line for table in tables() for line in _section(table))]) + "\n"


def tables() -> list[Mapping[str, Any]]:
    """Return every area of the table, in the page's order."""
    paths = sorted(TABLE.glob("*.yaml"), key=lambda path: (_place(path.stem), path.stem))
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths]


def _place(stem: str) -> int:
    return ORDER.index(stem) if stem in ORDER else len(ORDER)


def _contents() -> Iterator[str]:
    for table in tables():
        yield f"- [{table['area']}](#{_anchor(table['area'])})"
    yield ""


def _anchor(title: str) -> str:
    kept = [each for each in title.lower() if each.isalnum() or each in " -_"]
    return "".join(kept).replace(" ", "-")


def _section(table: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"## {table['area']}", "")
    for row in table["rows"]:
        yield from _entry(row)


def _entry(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"### {row['title']}", "")
    if example := row["example"].strip():
        yield from ("```text", *example.splitlines(), "```", "")
    yield from (row["todo"].strip(), "")
    held = f", held by `{row['held_by']}`" if "held_by" in row else ""
    long = ", only in `make faults`" if "long" in row else ""
    yield from (f"<sub>`{row['id']}`{held}{long}</sub>", "")


def fill(folder: Path) -> None:
    """Take the examples from what tests saw; those of tests that were not run, or not well, stay."""
    for path in TABLE.glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        for row in yaml.safe_load(text)["rows"]:
            fixed = [max(re.split(r"\{\w+\}", each), key=len) for each in row["says"]]
            promised = [each for each in fixed if len(each) >= TELLING]
            place = folder / f"{row['id']}.txt"
            seen = place.read_text(encoding="utf-8") if place.exists() else ""
            if promised and seen and all(each in seen for each in promised):
                example = json.dumps(_told(seen, promised), ensure_ascii=False)
                text = _with_example(text, row["id"], example)
        path.write_text(text, encoding="utf-8")


def _told(text: str, promised: list[str]) -> str:
    """Return the lines that hold what the row promises, without what differs from run to run."""
    lines = dict.fromkeys(line.strip(" \t*") for line in text.splitlines())
    told = [line for line in lines if any(each in line for each in promised)]
    plain = "\n".join(told[:MOST_LINES] or text.splitlines()[:MOST_LINES])
    for pattern, stands in PLAIN.items():
        plain = re.sub(pattern, stands, plain)
    return plain


def _with_example(text: str, name: str, example: str) -> str:
    """Return the table's text with one example changed; all else stays as a person wrote it."""
    begin = text.index(f"- id: {name}\n")
    head, tail = text[:begin], text[begin:]
    return head + re.sub(
        r"( +example: ).*\n(?: {6}.*\n)*", lambda match: f"{match[1]}{example}\n", tail, count=1
    )


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        fill(Path(folder))
    PAGE.write_text(page(), encoding="utf-8")

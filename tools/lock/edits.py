"""Puts a pin into a catalog file where it says `unpinned`, and leaves the rest of the file as it is."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import FoldedScalarString, LiteralScalarString

from stacks.errors import Refusal

Place = tuple[str, ...]
"""Keys from the top of a file to a value."""


def pin(file: Path, pins: Mapping[Place, str]) -> None:
    """Write pins, all of them or none.

    Args:
        file: A catalog file.
        pins: Place → pin; where the last key is missing, it comes behind the key `revision`.

    Raises:
        Refusal: Something is pinned there already.
    """
    written = _reader()
    data = written.load(file.read_text())
    for at, value in pins.items():
        *above, key = at
        holder = data
        for name in above:
            holder = holder[name]
        _refuse_pinned(f"{file.name}: {'.'.join(at)}", holder.get(key))
        _put(data, holder, key, value)
    text = io.StringIO()
    written.dump(data, text)
    write(file, text.getvalue())


def write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    part = file.with_name(f".{file.name}.part")
    file.parent.mkdir(parents=True, exist_ok=True)
    part.write_text(text)
    part.rename(file)


def _reader() -> YAML:
    """Return what reads and writes YAML so that the catalog's own style comes out as it went in."""
    reader = YAML()
    reader.width = 1_000_000  # lines are broken by people
    reader.preserve_quotes = True
    reader.indent(mapping=2, sequence=4, offset=2)
    reader.representer.add_representer(
        type(None), lambda to, _: to.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    return reader


def _refuse_pinned(what: str, value: object) -> None:
    if value is not None and not (isinstance(value, dict) and set(value) == {"unpinned"}):
        raise Refusal(
            f"{what} is pinned to {value}, and `make lock` replaces no pin; take it out by hand where another"
            " is meant"
        )


def _put(data: CommentedMap, holder: CommentedMap, key: str, value: str) -> None:
    old = holder.get(key)
    if old is None and "revision" in holder:
        holder.insert(list(holder).index("revision") + 1, key, value)
        return
    written_here = next((each for each in _holders(data, old)), None) is holder
    holder[key] = value
    # What stands between the old value and the next key hangs on the old value, where that is no alias.
    behind = old.ca.items.pop("unpinned", None) if written_here else None
    if behind:
        holder.ca.items[key] = behind
        if isinstance(old["unpinned"], FoldedScalarString | LiteralScalarString):
            behind[2].value = f"\n{behind[2].value}"  # such a text brings the end of its last line itself


def _holders(within: object, value: object) -> Iterator[object]:
    """Yield the mappings that hold this very value, in the order of the file."""
    for below in within.values() if isinstance(within, dict) else within if isinstance(within, list) else ():
        if below is value:
            yield within
        else:
            yield from _holders(below, value)

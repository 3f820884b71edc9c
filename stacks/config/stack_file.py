"""From the text of a stack file to the object that describes its fleet."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml
from yaml.reader import ReaderError

from stacks.config.fleet import FleetConfig
from stacks.config.numbers import ENDLESS, LEADING_ZERO, number
from stacks.config.parse import KEY, parse
from stacks.errors import ConfigError
from stacks.faults import shown

_TAG: Final = "tag:yaml.org,2002:"
_TEXTS_OF_PULUMI: Final = {f"{_TAG}timestamp", f"{_TAG}value"}
_REPLACED: Final = {f"{_TAG}bool", f"{_TAG}int", f"{_TAG}float"}
_MEND: Final = "mend the file there"
_UNTAGGED: Final = "write the value without it, text in quotes"
_OPEN: Final = 0  # the size of a node that is being looked into
_MOST: Final = 10_000
"""Values in a stack file, each counted as often as `*` refers to it: ten lines can mean billions."""


class _Loader(yaml.SafeLoader):
    """Reads YAML as Pulumi does: `yes`, `on` and `18:12:16` are text, and so is a date; `1e3` is a number.

    Attributes:
        tagged: A sentence for every tag that is written out, such as `!!set`.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own declaration
        first: [each for each in resolvers if each[0] not in _TEXTS_OF_PULUMI | _REPLACED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.tagged: list[str] = []

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it out
        if tag := getattr(event, "tag", None):
            name = shown(tag.replace(_TAG, "!!"))
            self.tagged.append(
                f"{_at(event.start_mark)}: the tag {name} is not for a stack file; {_UNTAGGED}"
            )
        return super().compose_node(parent, index)


_Loader.add_implicit_resolver(
    f"{_TAG}bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(f"{_TAG}float", re.compile(r"^[-+.0-9]"), list("-+.0123456789"))
_Loader.add_constructor(f"{_TAG}float", lambda _, node: number(node.value))


def parse_file(file: Path, source: str) -> FleetConfig:
    """Return the fleet of a stack file.

    Args:
        file: Where it lies.
        source: What the messages call it (`stacks/Pulumi.lab.yaml`).

    Raises:
        ConfigError: It cannot be read, or something in it is wrong; lists every fault.
    """
    return parse(read(text_of(file, source), source), source)


def text_of(file: Path, source: str) -> str:
    """Return the text of a stack file.

    Args:
        file: Where it lies.
        source: What the messages call it (`stacks/Pulumi.lab.yaml`).

    Raises:
        ConfigError: It cannot be read, or is no text.
    """
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{source}:{line}: is no text in UTF-8; save the file in UTF-8"]) from None
    except OSError as error:
        raise ConfigError([f"{source}: cannot be read: {error.strerror}; put a stack file there"]) from None


def read(text: str, source: str) -> object:
    """Return the object under `rackstack:fleet` of a stack file; None where there is none.

    Args:
        text: The stack file.
        source: Where it was read, for the messages (`stacks/Pulumi.lab.yaml`).

    Raises:
        ConfigError: The text is no stack file; each fault starts with its line and column.
    """
    try:
        written, faults = _decoded(text)
    except yaml.MarkedYAMLError as error:
        what = ", ".join(filter(None, (error.context, error.problem)))
        raise ConfigError([f"{source}{_at(error.problem_mark)}: is not YAML: {what}; {_MEND}"]) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        raise ConfigError(
            [f"{source}:{line}:{column}: is not YAML: a character that it does not allow; {_MEND}"]
        ) from None
    except RecursionError:
        raise ConfigError([f"{source}: nests too deep for a stack file; write it flat"]) from None
    if faults:
        raise ConfigError([f"{source}{fault}" for fault in faults])
    return _fleet(written, source)


def _decoded(text: str) -> tuple[object, list[str]]:
    loader = _Loader(text)
    node = loader.get_single_node()
    if node is None:
        return None, []
    sizes: dict[yaml.Node, int] = {}
    faults = list(dict.fromkeys([*loader.tagged, *_faults(node, sizes)]))
    if not faults and sizes[node] > _MOST:
        faults = [f": holds more than {_MOST} values, with what `*` repeats; write less"]
    return (None if faults else loader.construct_document(node)), faults


def _faults(node: yaml.Node, sizes: dict[yaml.Node, int]) -> Iterator[str]:
    """Yield what is wrong with a node and below, once each; `sizes` gets the number of values in each."""
    if node in sizes:
        if sizes[node] == _OPEN:
            yield f"{_at(node.start_mark)}: stands inside itself (`&` and `*`); {_MEND}"
        return
    sizes[node] = _OPEN
    below: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        yield from _twice(node)
        below = [each for pair in node.value for each in pair]
    elif isinstance(node, yaml.SequenceNode):
        below = node.value
    else:
        yield from _no_number(node)
    for each in below:
        yield from _faults(each, sizes)
    sizes[node] = 1 + sum(sizes[each] for each in below)


def _no_number(node: yaml.Node) -> Iterator[str]:
    if node.tag != f"{_TAG}float":
        return
    if LEADING_ZERO.fullmatch(node.value):
        yield (
            f"{_at(node.start_mark)}: {node.value} starts with a zero, so that YAML may count it in eights; "
            "write it without the zero, or in quotes"
        )
    elif ENDLESS.fullmatch(node.value):
        yield f"{_at(node.start_mark)}: {node.value} is no number to reckon with; write a finite one"


def _twice(mapping: yaml.MappingNode) -> Iterator[str]:
    first: dict[str, yaml.Mark] = {}
    for key, _ in mapping.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in first:
            line = first[key.value].line + 1
            name = shown(key.value)
            yield f"{_at(key.start_mark)}: the key {name} stands in line {line} already; keep one of them"
        first.setdefault(key.value, key.start_mark)


def _fleet(written: object, source: str) -> object:
    config = written.get("config") if isinstance(written, dict) else None
    if not isinstance(config, dict):
        raise ConfigError(
            [f"{source}: has no mapping `config` with `{KEY}` in it; start from stacks/Pulumi.lab.yaml"]
        )
    return config.get(KEY)


def _at(mark: yaml.Mark | None) -> str:
    return f":{mark.line + 1}:{mark.column + 1}" if mark else ""

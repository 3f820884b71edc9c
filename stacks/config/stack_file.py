"""From the text of a stack file to the object that describes its fleet."""

import re
from collections.abc import Iterator
from typing import Final

import yaml
from yaml.reader import ReaderError

from stacks.config.parse import KEY
from stacks.errors import ConfigError
from stacks.faults import shown

_TRUTH: Final = "tag:yaml.org,2002:bool"
_DATE: Final = "tag:yaml.org,2002:timestamp"
_MEND: Final = "mend the file there"


class _Loader(yaml.SafeLoader):
    """Reads YAML as Pulumi does: `yes` and `on` are text, and so is a date."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own declaration
        first: [each for each in resolvers if each[0] not in {_TRUTH, _DATE}]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_TRUTH, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


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
    faults = list(dict.fromkeys(_repeated(node, ())))
    return (None if faults else loader.construct_document(node)), faults


def _repeated(node: yaml.Node, above: tuple[yaml.Node, ...]) -> Iterator[str]:
    """Yield every key that stands twice in its mapping, and every value that stands inside itself."""
    if node in above:
        yield f"{_at(node.start_mark)}: stands inside itself (`&` and `*`); {_MEND}"
        return
    if isinstance(node, yaml.MappingNode):
        yield from _twice(node)
        for pair in node.value:
            yield from (fault for each in pair for fault in _repeated(each, (*above, node)))
    elif isinstance(node, yaml.SequenceNode):
        yield from (fault for each in node.value for fault in _repeated(each, (*above, node)))


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

"""How what a host shows differs from what a run left there, in sentences. Pure.

Kinds, keys and values are those of `playbooks/roles/marker/files/observe.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

SHOWN_SUM = 12
MOST = 3


def sentences(left: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs, in the order in which kinds and keys were watched.

    Args:
        left: Kind → key → value at the end of the run.
        now: The same at the look; a kind or key that is not there was not seen.
    """
    return [
        sentence
        for kind, values in left.items()
        if kind in _DIFFERS
        for sentence in _shortened(
            [each for key, was in values.items() for each in _differs(kind, key, was, now)]
        )
    ]


def _differs(kind: str, key: str, was: Any, now: Mapping[str, Any]) -> Iterator[str]:
    if key not in now.get(kind, {}):
        yield f"{key} was not looked at"
    elif (found := now[kind][key]) != was or kind in _CONDITIONS:
        yield from _DIFFERS[kind](key, was, found)


def _shortened(said: list[str]) -> list[str]:
    """Keep the first few: when a folder goes, each of a hundred files in it is missing."""
    return [*said[:MOST], f"and {len(said) - MOST} more like it"] if len(said) > MOST + 1 else said


def _file(path: str, was: Mapping[str, str] | None, found: Mapping[str, str] | None) -> Iterator[str]:
    if was is None or found is None:
        yield f"{path} is gone" if found is None else f"{path} appeared"
        return
    for part, name in (("mode", "has mode"), ("owner", "belongs to")):
        if was[part] != found[part]:
            yield f"{path} {name} {found[part]}, not {was[part]}"
    if was["content"] != found["content"]:
        yield _content(path, was["content"], found["content"])


def _content(path: str, was: str, found: str) -> str:
    if was.startswith("-> ") and found.startswith("-> "):
        return f"{path} points to {found[3:]}, not to {was[3:]}"
    if any(each == "folder" or each.startswith("-> ") for each in (was, found)):
        return f"{path} is {_nature(found)}, not {_nature(was)}"
    return f"{path} was edited: its SHA-256 begins {found[:SHOWN_SUM]}, not {was[:SHOWN_SUM]}"


def _nature(content: str) -> str:
    if content == "folder":
        return "a folder"
    return f"a link to {content[3:]}" if content.startswith("-> ") else "a file"


def _value(path: str, was: str | None, found: str | None) -> Iterator[str]:
    yield f"{path} is gone" if found is None else f"{path} says {found or 'nothing'}, not {was or 'nothing'}"


def _stat(path: str, was: list[int] | None, found: list[int] | None) -> Iterator[str]:
    if was is None or found is None:
        yield f"{path} is missing" if found is None else f"{path} appeared"
    elif was[0] != found[0]:
        yield f"{path} has {found[0]} bytes, not {was[0]}"
    elif was[2] != found[2]:
        yield f"{path} was replaced since it was verified (another inode)"
    else:
        yield f"{path} was written to since it was verified"


def _unit(name: str, was: Mapping[str, Any] | None, found: Mapping[str, Any] | None) -> Iterator[str]:
    if not found or found["active"] != "active":
        state = f"{found['active']} ({found['sub']})" if found else "unknown (unknown)"
        yield f"{name} is {state}"
        return
    if found["stopped"]:
        yield f"{name} has stopped processes, which do nothing: {', '.join(found['stopped'])}"
    if not was:
        return
    if found["invocation"] != was["invocation"]:
        yield f"{name} was started again since the last run, by something else"
    if found["start"] != was["start"]:
        yield f"{name} is {found['start'] or 'unknown'} at boot, not {was['start'] or 'unknown'}"


def _package(name: str, was: str | None, found: str | None) -> Iterator[str]:
    if found is None:
        yield f"package {name} is gone, it was {was}"
    else:
        yield (
            f"package {name} is {found}, it was {was or 'absent'} at the last run: "
            "`up` checks the host again and takes what it has"
        )


def _pinned(name: str, was: list[Any] | None, found: list[Any] | None) -> Iterator[str]:
    if was is None:
        return
    if found is None:
        yield f"package {name} is gone, it was {was[0]}: `up` installs it again"
    elif found[0] != was[0]:
        yield f"package {name} was moved to {found[0]} from {was[0]}: `up` brings that back and holds it"
    elif was[1] and not found[1]:
        yield f"package {name} is not held any more, so an upgrade may move it: `up` holds it again"


def _port(port: str, was: list[str], found: list[str]) -> Iterator[str]:
    del was
    if found:
        yield f"port {port} is taken by {' and '.join(found)}: end that process, `up` refuses until then"


def _gpu(key: str, was: list[str], found: list[str]) -> Iterator[str]:
    del key, was
    if found:
        yield f"the GPUs are used by {' and '.join(found)}: end that process, `up` refuses until then"


def _mount(folder: str, was: str, found: str) -> Iterator[str]:
    yield f"on {folder} is mounted {found or 'nothing'}, and the last run left {was or 'nothing'}"


def _live(command: str, was: str, found: str) -> Iterator[str]:
    del was, found
    yield f"what `{command}` prints is not what the last run left"


# What is wrong by itself, whatever it was at the end of the run.
_CONDITIONS = {"units", "ports", "gpus"}
_DIFFERS: Mapping[str, Callable[[str, Any, Any], Iterator[str]]] = {
    "files": _file,
    "values": _value,
    "stats": _stat,
    "units": _unit,
    "packages": _package,
    "pinned": _pinned,
    "ports": _port,
    "gpus": _gpu,
    "mounts": _mount,
    "live": _live,
}

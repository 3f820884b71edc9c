# ruff: noqa: INP001 - found by Ansible through its folder
"""Text for systemd's files that systemd reads back as exactly the value it was made from."""

import re
from collections.abc import Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError  # type: ignore[import-untyped] # Ansible ships no types

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CONTROL = re.compile(r"[\x01-\x1f\x7f]")
# What systemd does not hold to be text (its own rule, wider than UTF-8's).
NO_TEXT = re.compile(
    "[\0\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(p << 16 | n) for p in range(17) for n in (0xFFFE, 0xFFFF))
    + "]"
)


class FilterModule:
    """Filters `systemd_command` and `systemd_environment`."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Return the filters by name."""
        return {"systemd_command": systemd_command, "systemd_environment": systemd_environment}


def systemd_command(argv: Sequence[str]) -> str:
    """Return the value of `ExecStart=` that starts exactly `argv`; nothing in it is expanded.

    Args:
        argv: The program, as an absolute path, and its arguments.
    """
    if not argv or not str(argv[0]).startswith("/"):
        raise AnsibleFilterError(f"program {list(argv[:1])!r} has to be an absolute path: give one")
    # The colon turns the expansion of `$` off; specifiers (`%`) are always expanded and have to be doubled.
    return ":" + " ".join(_quoted(_text(argument)).replace("%", "%%") for argument in argv)


def systemd_environment(variables: Mapping[str, str]) -> str:
    """Return the lines of an `EnvironmentFile=` that set exactly `variables`, in order of their names."""
    return "".join(f"{_name(name)}={_shielded(_text(variables[name]))}\n" for name in sorted(variables))


def _quoted(text: str) -> str:
    shielded = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", shielded) + '"'


def _shielded(text: str) -> str:
    """Quote a value of an environment file, where only these four are special and lines may break."""
    return '"' + re.sub(r'(["\\`$])', r"\\\1", text) + '"'


def _name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise AnsibleFilterError(f"{name!r} is no name of an environment variable: use letters, digits and _")
    return name


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise AnsibleFilterError(f"{value!r} is no text, and arguments and variables are: quote it in YAML")
    if found := NO_TEXT.search(value):
        raise AnsibleFilterError(
            f"{value!r} holds {found[0]!r}, which systemd refuses in its files: leave it out"
        )
    return value

"""What may be a secret among the things set by hand, so that it is refused and never shown."""

import re
from collections.abc import Iterator, Mapping

from stacks.config import FleetConfig, Setting

HIDDEN = "the value there (not shown)"

# As whole words of a name that is cut at `_` and `-`.
_NAMES = re.compile(
    r"(^|_)(KEYS?|TOKEN|PAT|PASS|AUTH|PWD|BEARER|AUTHORIZATION)$"
    r"|(^|_)AP?IKEY|APIKEY|API_KEY|ACCESS_KEY|API_TOKEN|AUTH_TOKEN|SECRET|CREDENTIAL"
    r"|PASSWORD|PASSWD|PASSPHRASE"
)
_VALUES = re.compile(
    r"(?<![A-Za-z0-9])("
    r"sk-[A-Za-z0-9_-]{8,}|hf_[A-Za-z0-9]{8,}|gh[pousr]_[A-Za-z0-9]{8,}|github_pat_[A-Za-z0-9_]{8,}"
    r"|glpat-[A-Za-z0-9_-]{8,}|AKIA[A-Z0-9]{8,}|xox[abps]-[A-Za-z0-9-]{8,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]+)"
    r"|-----BEGIN |\b(Bearer|Basic)\s+\S|://[^/\s:@]*:[^/\s@]*@"
)


def named_secret(name: str) -> bool:
    """Return whether a name says that its value is a secret."""
    return bool(_NAMES.search(name.upper().replace("-", "_")))


def may_be_secret(name: str, value: Setting) -> bool:
    """Return whether a setting, or anything inside it, may be a secret."""
    return any(_is_secret(*leaf) for leaf in _leaves((name,), value))


def hides(config: FleetConfig, at: str) -> bool:
    """Return whether what stands at `flags.NAME` or `env.NAME` may be a secret."""
    where, _, name = at.partition(".")
    settings: Mapping[str, Setting] = {"flags": config.flags, "env": config.env}.get(where, {})
    return name in settings and (name == "api-key" or may_be_secret(name, settings[name]))


def _leaves(names: tuple[str, ...], value: object) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every plain value inside a setting, with the names that lead to it."""
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _leaves((*names, str(name)), below)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(names, each)
    else:
        yield names, value


def _is_secret(names: tuple[str, ...], value: object) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    return any(map(named_secret, names)) or bool(_VALUES.search(" ".join((*names, str(value)))))

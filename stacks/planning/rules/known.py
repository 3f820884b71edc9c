"""Whether the engine knows what is set: options by their whole name, variables by their present one."""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from stacks.config import Setting
from stacks.planning import secret
from stacks.planning.design import Design
from stacks.planning.naming import spelled
from stacks.planning.rules.by_hand import DECIDED, first_name, way_out
from stacks.planning.rules.effective import effective
from stacks.planning.rules.engines import held
from stacks.planning.rules.rule import Finding, Rule, either
from stacks.planning.sized import Sized

_NOTHING = "nothing"
_SHORT: Mapping[str, str] = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "dcp": "decode-context-parallel-size",
    "ep": "enable-expert-parallel",
    "sc": "speculative-config",
}
"""Short names that the engine has with one dash, and that people look for."""
_LOOSE = frozenset(
    {
        "attention-backend",
        "linear-backend",
        "load-format",
        "moe-backend",
        "sparse-indexer-topk-backend",
        "VLLM_ROCM_USE_AITER_MOE_SITUV2",
    }
)
"""Whose values the engine takes in capitals and with dashes too."""
_FEW = 7
_JUDGED = frozenset({"dtype", "mamba-cache-dtype", "mamba-ssm-cache-dtype"})
"""Whose values another rule judges, which wants fewer."""


def _options_are_known(design: Design, _: Sized) -> Iterator[Finding]:
    """The engine takes the beginning of a name for the whole, past every rule that looks for the whole."""
    known, release = design.engine.options, design.engine.facts.release
    for name, value in design.config.flags.items() if known else ():
        plain = name.removeprefix("no-")
        if name in known or plain in known or plain in DECIDED:
            continue
        meant = [each for each in sorted(known) if each.startswith(name)] if name not in _SHORT else []
        short = (
            "; the engine would take it for the beginning of one, and the plan would not see it"
            if meant
            else ""
        )
        yield Finding(
            f"flags.{name}",
            spelled(value),
            f"is for an option that vLLM {release} does not have{short}",
            _nearest(name, known, meant),
        )


def _switches_are_switches(design: Design, _: Sized) -> Iterator[Finding]:
    """False is written as the `--no-` form, which only switches have; a switch takes no value."""
    known, release = design.engine.options, design.engine.facts.release
    for name, value in design.config.flags.items():
        if name not in known or name.startswith("no-") or name in DECIDED or first_name(design, name, value):
            continue
        switch = f"no-{name}" in known
        if value is False and not switch:
            yield Finding(
                f"flags.{name}",
                "false",
                f"is written as --no-{name}, which vLLM {release} does not have",
                "leave it out",
            )
        elif switch and not isinstance(value, bool):
            yield Finding(
                f"flags.{name}",
                spelled(value),
                "is a value for a switch",
                "write true or false, or leave it out",
            )


def _values_are_choices(design: Design, _: Sized) -> Iterator[Finding]:
    choices = design.engine.choices
    for kind, settings in (("flags", design.config.flags), ("env", design.config.env)):
        for name, value in settings.items():
            if name in choices and name not in _JUDGED | DECIDED and not is_choice(design, name, value):
                yield Finding(
                    f"{kind}.{name}",
                    spelled(value),
                    f"is none of the values that vLLM {design.engine.facts.release} takes",
                    _choice(spelled(value), [each for each in choices[name] if held(design, name, each)]),
                )


def _choice(value: str, choices: list[str]) -> str:
    """Return all values where they are few, else those that may be meant."""
    if len(choices) <= _FEW:
        return f"write {either(choices)}, or leave it out"
    close = get_close_matches(value, choices, 2)
    return f"did you mean {either(close)}?" if close else "leave it out"


def is_choice(design: Design, name: str, value: Setting) -> bool:
    """Return whether the engine takes a value, or all of a list; any, where it takes any."""
    choices = design.engine.choices.get(name)
    said = [_plain(name, spelled(each)) for each in (value if isinstance(value, list) else [value])]
    return choices is None or {*said} <= {_plain(name, each) for each in choices}


def _plain(name: str, value: str) -> str:
    return value.lower().replace("-", "_") if name in _LOOSE else value


def _variables_are_read(design: Design, _: Sized) -> Iterator[Finding]:
    facts, told = design.engine.facts, set[str]()
    for group in design.groups:
        for name, option in effective(design, group, "env").items():
            if name in told or not _is_wrong(design, name):
                continue
            told.add(name)
            yield Finding(
                f"env.{name}",
                f'"{option.value}"',
                f"is for a variable that vLLM {facts.release} does not read: it only warns, and goes on "
                "without",
                _renamed(facts.renamed[name])
                if name in facts.renamed
                else _nearest(name, design.engine.variables),
            )


def _is_wrong(design: Design, name: str) -> bool:
    known = design.engine.variables
    return name in design.engine.facts.renamed or (
        name.startswith("VLLM_") and bool(known) and name not in known
    )


def _renamed(instead: str) -> str:
    return "leave it out" if instead.startswith(_NOTHING) else f"write {instead}"


def _nearest(name: str, known: Collection[str], meant: Collection[str] = ()) -> str:
    """Return names that may be meant; never one that the plan decides, nor one of a secret."""
    if name in _SHORT:
        return way_out(_SHORT[name])
    if secret.named_secret(name) and not meant:
        return "leave it out"
    if decided := [each for each in meant if each in DECIDED]:
        return way_out(decided[0])
    names = [each for each in sorted(known) if _is_open(each)]
    close = list(
        dict.fromkeys((*(each for each in meant if each in names), *get_close_matches(name, names, 2)))
    )
    return f"did you mean {either(close[:3])}?" if close else "leave it out"


def _is_open(name: str) -> bool:
    return not (name in DECIDED or name.startswith("no-") or secret.named_secret(name))


RULES = (
    Rule(
        "options-are-known",
        "every option is one of the pinned release, by its whole name",
        "vLLM 0.33.0, vllm/entrypoints/common/cli_args.py (stacks/catalog/options)",
        _options_are_known,
    ),
    Rule(
        "switches-are-switches",
        "false stands only where the engine has a --no- form, and a switch has no other value",
        "vLLM 0.33.0, vllm/engine/arg_utils.py (stacks/catalog/options)",
        _switches_are_switches,
    ),
    Rule(
        "values-are-choices",
        "where the engine takes only some values, what is set by hand is one of them",
        "vLLM 0.33.0, vllm/engine/arg_utils.py and vllm/envs.py (stacks/catalog/options and variables)",
        _values_are_choices,
    ),
    Rule(
        "variables-are-read",
        "every VLLM_ variable is one that the pinned release reads, by its present name",
        "vLLM 0.33.0, vllm/envs.py",
        _variables_are_read,
    ),
)

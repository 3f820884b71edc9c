"""Whether the engine knows what is set: options by their whole name, variables by their present one."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches

from stacks.planning import secret
from stacks.planning.design import Design
from stacks.planning.naming import spelled
from stacks.planning.rules.by_hand import DECIDED, way_out
from stacks.planning.rules.effective import effective
from stacks.planning.rules.rule import Finding, Rule, either
from stacks.planning.sized import Sized

_NOTHING = "nothing"


def _options_are_known(design: Design, _: Sized) -> Iterator[Finding]:
    """The engine takes the beginning of a name for the whole, past every rule that looks for the whole."""
    known, release = design.engine.options, design.engine.facts.release
    for name, value in design.config.flags.items() if known else ():
        plain = name.removeprefix("no-")
        if name in known or plain in known or plain in DECIDED:
            continue
        meant = [each for each in sorted(known) if each.startswith(name)]
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
        "variables-are-read",
        "every VLLM_ variable is one that the pinned release reads, by its present name",
        "vLLM 0.33.0, vllm/envs.py",
        _variables_are_read,
    ),
)

"""Whether the engine pin runs on these hosts and GPUs, and knows this model."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from stacks.config import BareMetalMachines, Setting
from stacks.planning import versions
from stacks.planning.design import Design
from stacks.planning.rules.effective import effective, spelled
from stacks.planning.rules.rule import Finding, Rule, Sized, called, either

_ANY = "0"


def _serves_the_accelerators(design: Design, _: Sized) -> Iterator[Finding]:
    if design.family_name not in design.engine.facts.families:
        yield Finding(
            "engine",
            design.config.engine,
            f"is a build for {either(list(design.engine.facts.families))}, and the machines have "
            f"{design.family_name} "
            f"({design.machine.accelerator})",
            f"take an engine for {design.family_name} (stacks/catalog/engines)",
        )


def _has_wheels_for_the_hosts(design: Design, _: Sized) -> Iterator[Finding]:
    if design.machine.arch not in design.engine.facts.locks:
        yield Finding(
            "engine",
            design.config.engine,
            f"has locked wheels for {either(list(design.engine.facts.locks))}, and "
            f"{design.machine.title} hosts are "
            f"{design.machine.arch}",
            "take another engine, or add a lock for that architecture to its file (`make lock`)",
        )


def _driver_is_new_enough(design: Design, _: Sized) -> Iterator[Finding]:
    machines, floor = design.config.machines, driver_floor(design)
    driver = machines.driver if isinstance(machines, BareMetalMachines) else None
    if driver and floor and versions.key(driver) < versions.key(floor):
        whose = "the engine" if floor == design.engine.facts.driver_floor else design.machine.accelerator
        yield Finding(
            "machines.driver",
            driver,
            f"is older than {floor}, the oldest driver that {whose} runs with",
            f"install {floor} or newer and write it, or take an older engine",
        )


def driver_floor(design: Design) -> str | None:
    """Return the oldest driver that engine and accelerators both run with; None where unknown."""
    floors = (design.engine.facts.driver_floor, design.accelerator.driver_floor)
    known = [floor for floor in floors if floor and floor != "unknown"]
    return max(known, key=versions.key, default=None)


def _knows_the_model(design: Design, _: Sized) -> Iterator[Finding]:
    least, release = design.model.facts.requires, design.engine.facts.release
    if least != "unknown" and versions.key(release) < versions.key(least):
        yield Finding(
            "engine",
            design.config.engine,
            f"is vLLM {release}, and {called(design)} needs {least} or newer",
            f"take an engine of {least} or newer",
        )


def _tokenizer_knows_the_model(design: Design, _: Sized) -> Iterator[Finding]:
    least = design.model.facts.transformers
    locked = design.lock.packages.get("transformers") if design.lock else None
    if least and locked and versions.key(locked) < versions.key(least):
        yield Finding(
            "engine",
            design.config.engine,
            f"locks transformers {locked}, and {called(design)} needs {least} or newer",
            f"take an engine whose lock has transformers {least} or newer",
        )


def _option_has_its_package(design: Design, _: Sized) -> Iterator[Finding]:
    """Check options set by hand; of its own the planner leaves out what the lock cannot carry."""
    if design.lock is None:
        return
    for name, value in design.config.flags.items():
        for package, least in _needs(design, name, value).items():
            locked = design.lock.packages.get(package)
            if locked is None or versions.key(locked) < versions.key(least):
                yield Finding(
                    f"flags.{name}",
                    spelled(value),
                    f"needs {package} {_or_newer(least)}, and the engine's lock has {locked or 'none'}",
                    "leave it out, or take an engine whose lock has it",
                )


def _or_newer(least: str) -> str:
    return "of any release" if least == _ANY else f"{least} or newer"


def _needs(design: Design, name: str, value: Setting) -> Mapping[str, str]:
    """Return package → least release of an option, as the catalog says it or as the engine looks for it."""
    if name == "all2all-backend" and str(value).startswith("deepep"):
        return {"deep-ep": _ANY}
    said = {**design.checkpoint.facts.flags, **(design.documented.flags if design.documented else {})}
    return said[name].needs if name in said and said[name].value == value else {}


def _variables_are_read(design: Design, _: Sized) -> Iterator[Finding]:
    facts, told = design.engine.facts, set[str]()
    for group in design.groups:
        for name, option in effective(design, group, "env").items():
            if name in told or not _is_wrong(design, name):
                continue
            told.add(name)
            renamed, close = facts.renamed.get(name), get_close_matches(name, design.engine.variables, 2)
            yield Finding(
                f"env.{name}",
                f'"{option.value}"',
                f"is for a variable that vLLM {facts.release} does not read: it only warns, and goes on "
                "without",
                f"write {renamed}"
                if renamed
                else f"did you mean {either(close)}?"
                if close
                else "leave it out",
            )


def _is_wrong(design: Design, name: str) -> bool:
    known = design.engine.variables
    return name in design.engine.facts.renamed or (
        name.startswith("VLLM_") and bool(known) and name not in known
    )


RULES = (
    Rule(
        "engine-serves-the-accelerators",
        "the engine is a build for the family of the accelerators",
        "families of stacks/catalog/engines",
        _serves_the_accelerators,
    ),
    Rule(
        "engine-has-wheels-for-the-hosts",
        "the engine has a lock for the architecture of the hosts",
        "locks of stacks/catalog/engines; https://github.com/vllm-project/vllm/issues/24876",
        _has_wheels_for_the_hosts,
    ),
    Rule(
        "driver-is-new-enough",
        "the driver of the machines is not older than the newest floor of engine and accelerator",
        "driver floors of stacks/catalog; https://recipes.vllm.ai/moonshotai/Kimi-K3",
        _driver_is_new_enough,
    ),
    Rule(
        "engine-knows-the-model",
        "the engine's release is not older than the first that serves the model",
        "requires of stacks/catalog/models",
        _knows_the_model,
    ),
    Rule(
        "transformers-knows-the-model",
        "the engine's lock has a transformers that knows the model",
        "https://recipes.vllm.ai/Qwen/Qwen3.8-2.4T-A95B (dependencies)",
        _tokenizer_knows_the_model,
    ),
    Rule(
        "option-has-its-package",
        "an option set by hand that needs a package finds it in the engine's lock",
        "needs of stacks/catalog; vLLM 0.33.0, vllm/utils/import_utils.py",
        _option_has_its_package,
    ),
    Rule(
        "variables-are-read",
        "every VLLM_ variable is one that the pinned release reads, by its present name",
        "vLLM 0.33.0, vllm/envs.py",
        _variables_are_read,
    ),
)

"""Whether the engine pin runs on these hosts and GPUs, and knows this model."""

from collections.abc import Iterator, Mapping

from stacks.config import Setting
from stacks.planning import versions
from stacks.planning.design import Design
from stacks.planning.drivers import driver_floor
from stacks.planning.host_stack import wanted_driver
from stacks.planning.naming import spelled
from stacks.planning.packages import ANY, lacking
from stacks.planning.rules.rule import Finding, Rule, called, either
from stacks.planning.sized import Sized


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


def _driver_is_exact(design: Design, _: Sized) -> Iterator[Finding]:
    """Refuse a branch; whether a longer one is a whole release, only the hosts' package sources know."""
    driver = wanted_driver(design)
    if driver and design.family.vendor == "nvidia" and "." not in driver:
        yield Finding(
            "machines.driver",
            driver,
            "is a branch, and the machines get one exact release",
            f"write one whole, as `apt-cache madison nvidia-driver-{driver}-open` lists them on a machine",
        )


def _driver_is_installed(design: Design, _: Sized) -> Iterator[Finding]:
    driver = wanted_driver(design)
    if driver and design.family.vendor != "nvidia":
        yield Finding(
            "machines.driver",
            driver,
            f"says a driver for {design.machine.accelerator}, and only NVIDIA's is installed and watched",
            "drop it, and install that driver on the machines yourself",
        )


def _driver_is_new_enough(design: Design, _: Sized) -> Iterator[Finding]:
    """Refuse what is below the floor; a branch is as new as the newest release of it."""
    driver, floor = wanted_driver(design), driver_floor(design)
    if not driver or not floor:
        return
    least = floor if "." in driver else floor.partition(".")[0]
    if versions.key(driver) < versions.key(least):
        whose = "the engine" if floor == design.engine.facts.driver_floor else design.machine.accelerator
        yield Finding(
            "machines.driver",
            driver,
            f"is older than {floor}, the oldest driver that {whose} runs with",
            f"write {floor} or a newer release, or take an older engine",
        )


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
        for lack in lacking(design.lock, _needs(design, name, value)):
            yield Finding(
                f"flags.{name}", spelled(value), lack, "leave it out, or take an engine whose lock has it"
            )


def _needs(design: Design, name: str, value: Setting) -> Mapping[str, str]:
    """Return package → least release of an option, as the catalog says it or as the engine looks for it."""
    if name == "all2all-backend" and str(value).startswith("deepep"):
        return {"deep-ep": ANY}
    said = {**design.checkpoint.facts.flags, **(design.documented.flags if design.documented else {})}
    return said[name].needs if name in said and said[name].value == value else {}


def held(design: Design, name: str, value: Setting) -> bool:
    """Return whether the engine's lock, where there is one, holds what an option needs."""
    return design.lock is None or not any(lacking(design.lock, _needs(design, name, value)))


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
        "driver-is-exact",
        "an NVIDIA driver is one exact release, as its packages have it (580.126.20), and no branch (580)",
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/version-locking.html",
        _driver_is_exact,
    ),
    Rule(
        "driver-is-installed",
        "machines.driver stands only where a role installs it: on machines with NVIDIA GPUs",
        "playbooks/roles/nvidia_driver",
        _driver_is_installed,
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
)

"""What a stack names must be known before anything can be planned."""

import re
from collections.abc import Collection, Iterator, Mapping

from stacks.catalog import Catalog
from stacks.config import KEY, FleetConfig, LabMachines
from stacks.faults import nearest, shown
from stacks.planning import secret

_TYPES: Mapping[str, tuple[type, str]] = {
    "dtype": (str, "a number format such as auto"),
    "enable-prefix-caching": (bool, "true or false"),
    "gdn-prefill-backend": (str, "the name of a kernel such as triton"),
    "gpu-memory-utilization": (float, "a number such as 0.9"),
    "kda-prefill-backend": (str, "the name of a kernel such as triton"),
    "kv-cache-dtype": (str, "a number format such as fp8"),
    "mamba-ssm-cache-dtype": (str, "a number format such as float32"),
    "max-num-batched-tokens": (int, "a whole number such as 8192"),
    "max-num-seqs": (int, "a whole number such as 64"),
}
"""Options that the planner reckons with → their type, in Python and in words."""

_TYPED = "value-types; vLLM 0.33.0, vllm/engine/arg_utils.py"

LAB_HOST = "lab-host"
NO_SPECULATION = "none"

# Becomes a fleet's name with the checkout's digest behind it ("-3fa2c1"), and that names folders: 100 in all.
_STACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,92}")


def unknown_names(config: FleetConfig, catalog: Catalog, stack: str) -> Iterator[str]:
    """Yield a sentence for every name that nothing stands behind."""
    yield from _stack_names_a_fleet(stack)
    machines = config.machines
    if isinstance(machines, LabMachines):
        yield from _known("machines.image", machines.image, catalog.images)
    else:
        yield from _known("machines.type", machines.type, set(catalog.machines) - {LAB_HOST})
    yield from _known("fabric", config.fabric, catalog.fabrics)
    yield from _known("engine", config.engine, catalog.engines)
    yield from _known("model", config.model, catalog.models)
    model = catalog.models.get(config.model)
    if model and config.checkpoint:
        yield from _known("checkpoint", config.checkpoint, model.checkpoints, f" of {config.model}")
    if model and config.speculation:
        drafts = {*model.facts.drafts, NO_SPECULATION}
        yield from _known("speculation", config.speculation, drafts, f" of {config.model}")


def wrong_types(config: FleetConfig) -> Iterator[str]:
    """Yield a sentence for every option set by hand that the planner cannot reckon with."""
    for name, (kind, words) in _TYPES.items():
        value = config.flags.get(name)
        if value is None or type(value) is kind or (kind is float and type(value) is int):
            continue
        said = secret.HIDDEN if secret.hides(config, f"flags.{name}") else shown(value)
        yield f"{KEY}.flags.{name}: {said} is no such value; write {words} [{_TYPED}]"


def _stack_names_a_fleet(stack: str) -> Iterator[str]:
    if not _STACK.fullmatch(stack):
        yield (
            f"stack: {shown(stack)} cannot name a fleet; rename it (`pulumi stack rename`) to at most 93 "
            "letters, digits, '.', '_' or '-', with a letter or digit first"
        )


def _known(key: str, name: str, known: Collection[str], where: str = "") -> Iterator[str]:
    if name not in known:
        yield f"{KEY}.{key}: {shown(name)} is not in the catalog{where}; {nearest(name, sorted(known))}"

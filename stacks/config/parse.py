"""From the decoded stack file to `FleetConfig`, or to every fault in it."""

from collections.abc import Iterator

from pydantic import ValidationError

from stacks.config.fleet import FleetConfig
from stacks.errors import ConfigError
from stacks.faults import Location, dotted, explain, field_at, shown

KEY = "rackstack:fleet"


def parse(raw: object, source: str) -> FleetConfig:
    """Return the fleet that a person asked for.

    Args:
        raw: The decoded object under `rackstack:fleet`; None where the stack file has none.
        source: Where it was read, for the messages (`stacks/Pulumi.lab.yaml`).

    Raises:
        ConfigError: Something is wrong; lists every fault as `source: path: sentence`.
    """
    if raw is None:
        raise ConfigError(
            [f"{source}: {KEY}: is missing: the fleet; start from the one in stacks/Pulumi.lab.yaml"]
        )
    faults = dict(_placeholders(raw))
    try:
        config = FleetConfig.model_validate(raw)
    except ValidationError as error:
        # A placeholder also breaks the type or the pattern of its key; one sentence per key is enough.
        faults = dict(explain(error, FleetConfig)) | faults
    if faults:
        raise ConfigError(
            sorted(f"{source}: {dotted((KEY, *at))}: {sentence}" for at, sentence in faults.items())
        )
    return config


def _placeholders(value: object, at: Location = ()) -> Iterator[tuple[Location, str]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _placeholders(below, (*at, key))
    elif isinstance(value, str) and "$" in value:
        text = shown(value, field_at(FleetConfig, at))
        yield (
            at,
            f"{text} holds an unresolved placeholder, and nothing fills it in here; write the value itself",
        )

"""Whether to speculate, and with what."""

from stacks.catalog.figures import address
from stacks.catalog.models import ModelFacts
from stacks.config import FleetConfig
from stacks.planning.names import NO_SPECULATION
from stacks.planning.reasons import BY_HAND, SET_BY_HAND, Alternative, Choice


def draft(config: FleetConfig, model: ModelFacts) -> tuple[str | None, Choice]:
    """Return the name of the draft, None for no speculation, and why."""
    fitting, why, source = _fitting(config, model)
    name = config.speculation or fitting
    choice = Choice(
        what="speculation",
        value=name,
        why=SET_BY_HAND if config.speculation else why,
        source=BY_HAND if config.speculation else source,
        alternatives=tuple(_alternatives(model, name)),
    )
    return (None if name == NO_SPECULATION else name), choice


def _fitting(config: FleetConfig, model: ModelFacts) -> tuple[str, str, str]:
    """Return what the workload asks for, why, and where that stands."""
    workload, rule = config.workload, model.speculation
    if rule is None:
        return NO_SPECULATION, "the catalog has no draft for this model", "catalog"
    name: str = getattr(rule, workload.traffic)
    most = model.drafts[name].pays_up_to if name in model.drafts else None
    if most and workload.concurrency > most:
        facts = model.drafts[name]
        why = f"{name} does not pay above {most} requests in flight at once: {facts.loses}"
        return NO_SPECULATION, why, address(model.sources, facts.source)
    return name, rule.why, address(model.sources, rule.source)


def _alternatives(model: ModelFacts, name: str) -> list[Alternative]:
    others = [
        Alternative(value=other, why_not=facts.refused or facts.loses or "the workload decides for another")
        for other, facts in model.drafts.items()
        if other != name
    ]
    if name != NO_SPECULATION:
        others.append(Alternative(value=NO_SPECULATION, why_not=model.drafts[name].why))
    return others

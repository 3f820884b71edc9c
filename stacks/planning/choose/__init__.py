"""Decides what a person left open, and says why: from a configuration to a `Design`."""

from stacks.catalog import Catalog
from stacks.catalog.engines import Lock
from stacks.config import FleetConfig, LabMachines
from stacks.planning.choose.checkpoint import checkpoint
from stacks.planning.choose.draft import draft
from stacks.planning.choose.groups import groups
from stacks.planning.choose.layout import layout
from stacks.planning.choose.site import profile, site
from stacks.planning.design import Design
from stacks.planning.layers import Voices, draft_share

__all__ = ["design"]


def design(config: FleetConfig, catalog: Catalog, stack: str) -> Design:
    """Return the fleet with everything looked up and decided; every name is known by now. Pure."""
    model, engine = catalog.models[config.model], catalog.engines[config.engine]
    where = site(config, catalog)
    held, by_checkpoint = checkpoint(config, model.facts, where)
    split = layout(config, model.facts, held, where)
    speculation, by_draft = draft(config, model.facts)
    drafts = model.facts.drafts[speculation] if speculation else None
    facts = profile(model.facts, where.family_name, engine.facts.release)
    everybody = Voices(
        config=config,
        group="serve",
        engine=engine,
        family=where.family,
        model=model.facts,
        profile=facts,
        checkpoint=model.facts.checkpoints[held],
        crosses=None,
        joins=None,
        documented=split.documented,
        share=draft_share(drafts, where.family_name),
    )
    engines, by_settings = groups(everybody, where, split)
    lock = engine.locks.get(where.machine.arch)
    return Design(
        stack=stack,
        config=config,
        model=model,
        checkpoint_name=held,
        checkpoint=model.checkpoints[held],
        draft_name=speculation,
        draft=drafts,
        engine=engine,
        lock=lock if isinstance(lock, Lock) else None,
        machine=where.machine,
        family_name=where.family_name,
        family=where.family,
        accelerator=where.accelerator,
        memory=where.memory,
        fabric_name=config.fabric,
        fabric=where.fabric,
        profile=facts,
        documented=split.documented,
        count=_count(config, sum(each.machines for each in engines)),
        context=config.workload.context,
        groups=engines,
        choices=(by_checkpoint, split.choice, *by_settings, by_draft),
    )


def _count(config: FleetConfig, needed: int) -> int:
    machines = config.machines
    if isinstance(machines, LabMachines) or machines.count is not None:
        return machines.count or needed
    return needed

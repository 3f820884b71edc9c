"""The Pulumi program: read → plan → build → export."""

import pulumi

from components.fleet import Fleet
from components.program import end_quietly
from stacks import catalog, config, planning
from stacks.errors import RackstackError


def build() -> Fleet:
    """Declare this stack's fleet; a refusal comes before any resource, without a traceback."""
    stack = pulumi.get_stack()
    try:
        wanted = config.parse(pulumi.Config().get_object("fleet"), source=f"stacks/Pulumi.{stack}.yaml")
        return Fleet(planning.plan(wanted, catalog.load(), stack))
    except RackstackError as refused:
        raise pulumi.RunError(str(refused)) from None


end_quietly()
for name, value in build().results.items():
    pulumi.export(name, value)

"""The Pulumi program: read → plan → build → export."""

import pulumi

from components.fleet import declare
from components.program import end_quietly, refuse
from stacks import catalog, config, planning
from stacks.errors import RackstackError

end_quietly()
stack = pulumi.get_stack()
try:
    wanted = config.parse(pulumi.Config().get_object("fleet"), source=f"stacks/Pulumi.{stack}.yaml")
    results = declare(planning.plan(wanted, catalog.load(), stack))
except RackstackError as refused:
    refuse(refused)
for name, value in results.items():
    pulumi.export(name, value)

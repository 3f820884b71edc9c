"""Declares the things that the configuration lists, and exports what they return."""

import pulumi

from components.plugin.resource import Ensured
from components.program import end_quietly
from tests.factories.kinds import Slow, Thing

end_quietly()
CONFIG = pulumi.Config()
KINDS = {"thing": Thing, "slow": Slow}
for thing in CONFIG.require_object("things"):
    inputs = {**thing["inputs"], "key": CONFIG.require_secret("key")}
    made = Ensured(KINDS[thing.get("kind", "thing")], inputs["name"], inputs, pulumi.ResourceOptions())
    pulumi.export(inputs["name"], {"address": made.out("address"), "token": made.out("token")})

"""The report for programs loses nothing."""

import json

from stacks import report
from stacks.planning import FleetPlan, commands


def test_it_is_the_whole_plan_with_its_commands(shipped: FleetPlan) -> None:
    text = report.json(shipped)
    found = json.loads(text)
    assert FleetPlan.model_validate_json(json.dumps(found["plan"])) == shipped
    names = {host.name: host.name for host in shipped.hosts}
    assert found["commands"] == [each.model_dump(mode="json") for each in commands(shipped, names)]
    assert text == report.json(shipped)

"""The longest chain of resource times."""

from typing import Any

from tools.bench import chain


def resource(urn: str, *dependencies: str, parent: str = "", custom: bool = True) -> dict[str, Any]:
    return {"urn": urn, "dependencies": list(dependencies), "parent": parent, "custom": custom}


def test_it_follows_dependencies_and_counts_a_components_time_for_its_children() -> None:
    resources = [
        resource("fleet", custom=False),
        resource("record", parent="fleet"),
        resource("h1", "record", parent="fleet"),
        resource("h2", "record", parent="fleet"),
        resource("play", "h1", "h2", parent="fleet"),
    ]
    seconds = {"fleet": 100.0, "record": 1.0, "h1": 5.0, "h2": 7.0, "play": 30.0}
    assert chain.longest(seconds, {"deployment": {"resources": resources}}) == 38.0

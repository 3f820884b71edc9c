"""What machines get below the engine, in the report and its picture."""

from __future__ import annotations

import pytest

from stacks.report import markdown, svg
from tests.factories.stacks import planned

DRIVER = {"machines.driver": "580.126.20"}


@pytest.mark.parametrize(
    ("stack", "roles", "picture"),
    [
        ("kimi-k3-gb300", ("imex: nvidia-imex 580.126.20",), "driver, IMEX, DCGM"),
        (
            "kimi-k3-b200",
            ("rdma", "fabric_manager: nvidia-fabricmanager 580.126.20"),
            "driver, Fabric Manager, RDMA, DCGM",
        ),
    ],
)
def test_the_fabric_decides_what_is_shown(stack: str, roles: tuple[str, ...], picture: str) -> None:
    plan = planned(stack, DRIVER)
    text = markdown(plan)
    prose = " ".join(text.split())
    assert (
        "- `prepare` installs driver 580.126.20, exactly; the oldest that engine and GPUs run with: " in prose
    )
    assert "`prepare` installs the driver of machines.driver, not said yet;" in markdown(planned(stack))
    for role in roles:
        assert f"\n  - {role}" in text
    assert f"the gates of {plan.fabric.title}: docs/gates" in text
    assert picture in svg(plan)


def test_the_lab_shows_nothing_of_it() -> None:
    assert "docs/gates" not in markdown(planned("lab"))

"""Whose a machine is, by case file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.machines.baremetal import lease
from components.machines.baremetal.lease import Claim, Lease

CASES = yaml.safe_load((Path(__file__).parents[4] / "cases" / "machines" / "leases.yaml").read_text())
NOW = 1_796_212_800  # 2026-12-02 12:00:00 UTC
DAY = 86400
OTHER = {
    "fleet": "other-3fa2c1",
    "name": "tray-0",
    "owner": "ann@ops",
    "since": "2026-11-20T08:00:00Z",
    "until": "2026-12-04T08:00:00Z",
    "incarnation": "i1",
    "machine": "m1",
}
CLAIM = {"fleet": "k3-7d20aa", "name": "tray-0", "machine": "m1"}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_a_lease_means_to_a_claim(case: dict[str, Any]) -> None:
    text = json.dumps(OTHER | case["lease"]) if "lease" in case else case.get("raw", "")
    standing = lease.judge(text, Claim(**(CLAIM | case.get("claim", {}))), NOW)
    said = {name: value for name, value in asdict(standing).items() if value}
    if standing.ours:
        said["ours"] = True
        assert standing.ours.incarnation == standing.replaces
    assert said == case["means"]


def test_a_lease_is_renewed_when_half_of_it_is_over() -> None:
    held = Lease(**(OTHER | {"until": lease.until(NOW)}))
    assert held.until == "2026-12-16T12:00:00Z"
    assert lease.ending(held, NOW + 7 * DAY) == ""
    assert lease.ending(held, NOW + 7 * DAY + 1) == ("its lease ends on 2026-12-16T12:00:00Z: `up` renews it")

"""What a machine lacks, by case file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.machines.baremetal import verdict
from components.machines.baremetal.verdict import Facts, Wanted

CASES = yaml.safe_load((Path(__file__).parents[4] / "cases" / "machines" / "facts.yaml").read_text())
NOW = 1_800_000_000
FACTS = Facts(
    arch="aarch64",
    cpus=144,
    memory_mib=960_000,
    clock=NOW,
    machine="m1",
    on_bus={"10de": 4, "1a03": 1},
    gpus=["NVIDIA GB300"] * 4,
    gpus_complaint="",
    interface="eth0",
    lease="",
    fleets=[],
)
WANTED = Wanted(
    address="10.20.0.11",
    type="gb300-nvl4",
    arch="aarch64",
    vendor="nvidia",
    accelerator="gb300",
    gpus=4,
    memory_mib=0,
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_a_machine_lacks(case: dict[str, Any]) -> None:
    facts = FACTS.model_copy(update=case.get("facts", {}))
    wanted = WANTED.model_copy(update=case.get("wanted", {}))
    assert verdict.lacks(facts, wanted, NOW) == case["lacks"]


def test_a_machine_is_called_what_it_is() -> None:
    assert verdict.called(FACTS) == "aarch64, 144 processors, 960000 MiB of memory, 4 x NVIDIA GB300"
    bare = FACTS.model_copy(update={"gpus": None})
    assert verdict.called(bare).endswith("on its PCI bus 4 of vendor 10de, 1 of vendor 1a03")
    assert verdict.called(bare.model_copy(update={"on_bus": {}})).endswith("no accelerator")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"arch": "x86_64"}'])
def test_what_is_no_survey_is_none(text: str) -> None:
    assert verdict.read(text) is None


def test_what_the_program_prints_is_read() -> None:
    assert verdict.read(FACTS.model_dump_json()) == FACTS

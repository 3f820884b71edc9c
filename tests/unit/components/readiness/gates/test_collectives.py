"""What follows from NCCL's own log and from what the ranks measured, by case file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.readiness.gates.collectives import judged, read_log
from components.readiness.gates.fabric import decoded, faults
from components.readiness.gates.trial import Exchange, Measured, Member, Told
from components.readiness.gates.wants import Wants
from tests.factories.sights import wants

CASES = Path(__file__).parents[4] / "cases" / "readiness" / "gates" / "collectives.yaml"
WELL = {"all_reduce": [1073741824, 811.0, 0], "alltoall": [1073741824, 640.5, 0]}


def _exchange(wanted: Wants, backend: Any) -> Exchange:
    [engine] = wanted.engines
    members = [
        Member(host=host, first=index * wanted.gpus, local=wanted.gpus, environment={})
        for index, host in enumerate(engine.hosts)
    ]
    return Exchange(
        engine="serve", backend=backend, python="python", address="10.0.0.1", port=29501, members=members
    )


def _log(case: dict[str, Any]) -> str:
    lines = [f"tray-0:4711:4720 [0] NCCL INFO {line}" for line in case.get("log", [])]
    if "warn" in case:
        lines.append(f"tray-0:4711:4720 [0] mnnvl.cc:88 (ncclMnnvlCheck) NCCL WARN {case['warn']}")
    return "\n".join(lines)


def _told(case: dict[str, Any], hosts: list[str]) -> dict[str, Told]:
    figures = [
        Measured(collective=name, size=size, busbw=busbw, wrong=wrong)
        for name, (size, busbw, wrong) in (WELL | case.get("measured", {})).items()
        if name not in case.get("untold", [])
    ]
    quiet = Told(code=0, log="", measured=[], error="")
    head = Told(code=case.get("code", 0), log=_log(case), measured=figures, error=case.get("error", ""))
    return {host: head if host == hosts[0] else quiet for host in hosts}


def _cases() -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in yaml.safe_load(CASES.read_text())]


@pytest.mark.parametrize("case", _cases())
def test_the_verdict(case: dict[str, Any]) -> None:
    wanted = wants(case.get("fabric", "nvlink"), **case.get("wants", {}))
    exchange = _exchange(wanted, case.get("backend", "nccl"))
    verdict = judged(exchange, _told(case, wanted.engines[0].hosts), wanted, case.get("baseline", {}))
    said = [each.sentence.partition("; likely, in this order: ")[0] for each in verdict]
    assert said == case.get("refused", [])
    assert [each.check.id for each in verdict] == case.get("breaks", [])
    if "nvls" in case:
        assert read_log(_log(case)).nvls is case["nvls"]


def test_a_mask_is_decoded_by_its_fields_and_not_by_its_bits() -> None:
    assert decoded(0xAA) == {
        "degraded bandwidth": "false",
        "route recovery": "false",
        "route unhealthy": "false",
        "access timeout recovery": "false",
        "incorrect configuration": "not supported",
        "partition assigned": "not supported",
    }
    assert faults(0xAA) == faults(0x1AA) == faults(0x11AA) == faults(0) == ()
    assert faults(0x1A9) == ("degraded bandwidth is true",)
    assert faults(0x1EA) == ("access timeout recovery is unknown (3)",)
    assert faults(0x8AA) == ("incorrect configuration is invalid state of the GPU",)
    assert faults(0x9AA) == ("incorrect configuration is unknown (9)",)
    assert faults(0x21AA) == ("partition assigned is no",)

"""What follows from NCCL's own log and from nccl-tests, by case file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.readiness.gates.collectives import judged, read_log, read_tests
from components.readiness.gates.fabric import decoded, faults
from components.readiness.gates.sight import Said
from tests.factories.sights import wants

CASES = Path(__file__).parents[4] / "cases" / "readiness" / "gates" / "collectives.yaml"
# The columns of src/util.cu; what stands after # but the name of the program is not read.
HEAD = """\
# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007
# Collective test starting: {name}_perf
#
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw
           8             2     float     sum      -1    15.21    0.00    0.00       0    15.10    0.00    0.00
"""
ROW = "  {size}    2147483648     float     sum      -1  18515.0  463.94  {busbw}       0  18500.0  464.32\n"
FOOT = "# Out of bounds values : {wrong} {verdict}\n# Avg bus bandwidth    : 405.5\n#\n"


def _table(name: str, size: int, busbw: float, wrong: int) -> Said:
    fields = {
        "name": name,
        "size": size,
        "busbw": busbw,
        "wrong": wrong,
        "verdict": "FAILED" if wrong else "OK",
    }
    return Said(code=0, out=(HEAD + ROW + FOOT).format(**fields))


def _log(case: dict[str, Any]) -> Said:
    lines = [f"tray-0:4711:4720 [0] NCCL INFO {line}" for line in case.get("log", [])]
    if "warn" in case:
        lines.append(f"tray-0:4711:4720 [0] mnnvl.cc:88 (ncclMnnvlCheck) NCCL WARN {case['warn']}")
    return Said(code=case.get("code", 0), out="\n".join(lines))


def _cases() -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in yaml.safe_load(CASES.read_text())]


@pytest.mark.parametrize("case", _cases())
def test_the_verdict(case: dict[str, Any]) -> None:
    wanted = wants(case.get("fabric", "nvlink"), **case.get("wants", {}))
    tables = [_table(name, *row) for name, row in case.get("tests", {}).items()]
    tables += [Said(code=0, out=case["table"])] if "table" in case else []
    verdict = judged(wanted.engines[0], _log(case), tables, wanted, case.get("baseline", {}))
    said = [each.sentence.partition("; likely, in this order: ")[0] for each in verdict]
    assert said == case.get("refused", [])
    assert [each.check.id for each in verdict] == case.get("breaks", [])
    if "nvls" in case:
        assert read_log(_log(case)).nvls is case["nvls"]


def test_of_a_table_the_largest_message_counts() -> None:
    measured = read_tests(_table("alltoall", 1 << 33, 640.5, 0))
    assert (measured.collective, measured.size, measured.busbw, measured.wrong) == (
        "alltoall",
        1 << 33,
        640.5,
        0,
    )


def test_a_mask_is_decoded_by_its_fields_and_not_by_its_bits() -> None:
    assert decoded(0xAA) == {
        "degraded bandwidth": "false",
        "route recovery": "false",
        "route unhealthy": "false",
        "access timeout recovery": "false",
        "incorrect configuration": "not supported",
    }
    assert faults(0xAA) == faults(0x1AA) == faults(0) == ()
    assert faults(0x1A9) == ("degraded bandwidth is true",)
    assert faults(0x1EA) == ("access timeout recovery is unknown (3)",)
    assert faults(0x9AA) == ("incorrect configuration is unknown (9)",)

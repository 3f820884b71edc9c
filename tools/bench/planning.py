"""How long the pure part takes, each time in a process of its own: nothing is warm there, as in a preview."""

import json
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from tools.bench.figure import Figure, at_most, stated
from tools.bootstrap.work import CHECKOUT

STACK = "kimi-k3-gb300"
_PROCESSES = 9
_ALONE = f"""
import json, time
from pathlib import Path
marks = [time.perf_counter()]
def mark():
    marks.append(time.perf_counter())
from stacks import catalog, config, planning, report
mark()
known = catalog.load()
mark()
source = "stacks/Pulumi.{STACK}.yaml"
wanted = config.parse_file(Path(source), source)
mark()
plan = planning.plan(wanted, known, "{STACK}")
mark()
report.markdown(plan)
mark()
print(json.dumps([later - before for before, later in zip(marks, marks[1:])]))
"""


def figures() -> Iterator[Figure]:
    """Yield what planning takes, and what comes before and after it; medians over processes."""
    imported, loaded, _, planned, told = map(median, zip(*_alone(), strict=True))
    yield stated("import of `stacks` (config, catalog, planning, report)", imported)
    yield stated("load of the catalog", loaded)
    yield at_most(f"plan of {STACK}, catalog loaded", planned, most=0.05)
    yield stated(f"report of {STACK} as Markdown", told)


def _alone() -> Iterator[list[float]]:
    for _ in range(_PROCESSES):
        done = subprocess.run(
            [sys.executable, "-c", _ALONE], cwd=CHECKOUT, capture_output=True, text=True, check=True
        )
        yield json.loads(done.stdout)

"""Names that shells, units and templates would take for something else, and more runs than anybody needs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from components.hosts import playbook
from components.hosts.playbook import Playbook, PlaybookInputs
from tests.factories.project import copy_project
from tests.factories.run import FakeRun
from tests.lab.faults.rows import row
from tests.lab.faults.site import CHECKPOINTS, on, refusal, settle

if TYPE_CHECKING:
    from tests.lab.faults.origin import Mirror
    from tests.lab.faults.site import Site

pytestmark = pytest.mark.lab

NAME = """100% $HOME "it's" {{ big }} Größe"""
LONGEST = f"h{'o' * 61}t"
RUNS = 200
DATA = Path(__file__).parents[1] / "data/playbooks"
DEEP = "Ein Ordner/mit Ümläuten und % $5 'Zeichen'/" + "/".join(["tief" * 8] * 4)


def test_paths_with_signs_that_others_read_as_more(site: Site, mirror: Mirror) -> None:
    files = {"config.json": b"{}", f"{NAME}/model 1.safetensors": b"weights"}
    home, url = f"{CHECKPOINTS}/{NAME}/1", f"{mirror.url}/checkpoints/{quote(NAME)}/1/"
    inputs = site.checkpoint(mirror, NAME, files, checkpoint_home=home, checkpoint_url=url)
    run = FakeRun()
    settle(inputs, run)
    assert on(site.bad, f"cat {shlex.quote(f'{home}/{NAME}')}/model*") == "weights"
    row("names-paths").holds("\n".join(run.said), host=site.bad.name)


@pytest.mark.long
def test_a_host_name_of_63_characters(site: Site) -> None:
    long = site.bad.model_copy(update={"name": LONGEST})
    run = FakeRun()
    settle(site.prepare(site.hosts[0], long), run)
    said = refusal(site.prepare(site.hosts[0], long, prepare_memory_mib=1 << 30))
    row("names-host").holds("\n".join([*run.said, said]), host=LONGEST)


@pytest.mark.long
def test_a_checkout_deep_below_folders_with_spaces_and_umlauts(site: Site, tmp_path: Path) -> None:
    project = tmp_path / DEEP
    copy_project(project)
    inputs = site.prepare(prepare_memory_mib=1 << 30).model_dump(mode="json")
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, json.dumps(inputs)],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (kept,) = (project / ".state/runs").iterdir()
    row("names-checkout").holds(done.stdout, kept=kept.name)


@pytest.mark.long
def test_two_hundred_runs_in_one_process(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playbook, "PLAYBOOKS", DATA)
    said: list[str] = []

    def once(number: int) -> Any:
        run = FakeRun()
        inputs = _ping(site, number)
        made = Playbook().create(inputs, run)
        said.extend(run.said)
        return made.run, Playbook().read(inputs, made, FakeRun()).drift

    with ThreadPoolExecutor(4) as pool:
        done = dict(pool.map(once, range(RUNS)))
    assert len(done) == RUNS
    assert not any(done.values())
    row("many-runs").holds("\n".join(said), host=site.bad.name)


def _ping(site: Site, number: int) -> PlaybookInputs:
    return PlaybookInputs(
        fleet=f"{site.fleet}-{number}",
        playbook="nothing",
        hosts=[site.bad],
        variables={},
        host_variables={},
        secrets={},
        roles={},
        after=[],
    )


_ELSEWHERE = """
import json, sys
from components.hosts.playbook import Playbook, PlaybookInputs
from stacks.errors import EffectError
from tests.factories.run import FakeRun
run = FakeRun()
good = json.loads(sys.argv[1])
bad = good | {"variables": good["variables"]}
good = good | {"variables": good["variables"] | {"prepare_memory_mib": 128}}
Playbook().create(PlaybookInputs.model_validate(good, strict=False), run)
try:
    Playbook().create(PlaybookInputs.model_validate(bad, strict=False), run)
except EffectError as error:
    print(*run.said, error, sep="\\n")
"""

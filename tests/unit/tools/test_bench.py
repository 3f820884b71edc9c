"""What the benchmark reads before it measures."""

import json
import subprocess
import sys

import pytest

from tools.bench import planning, playbooks
from tools.bench.figure import Figure, at_most, none_of, quotient, ratio, stated, surplus, within
from tools.bench.watch import ansible_during


def test_a_process_of_ansible_is_seen_and_others_are_not() -> None:
    def run(name: str) -> None:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.4)", name], check=True)

    assert ansible_during(lambda: run("/usr/bin/ansible-playbook")) == 1
    assert ansible_during(lambda: run("/usr/bin/something")) == 0


@pytest.mark.parametrize(
    ("kept", "above"),
    [
        (ratio("up", 11.04, 10.0, most=1.1), ratio("up", 11.1, 10.0, most=1.1)),
        (surplus("look", 2.54, 1.0, most=1.5), surplus("look", 2.6, 1.0, most=1.5)),
        (at_most("plan", 0.0504, most=0.05), at_most("plan", 0.0506, most=0.05)),
        (none_of("Ansible", 0), none_of("Ansible", 1)),
        (quotient("stream", 0.02552, 0.025, most=1.021), quotient("stream", 0.02556, 0.025, most=1.021)),
        (within("recover", 5.04, most=5), within("recover", 5.06, most=5)),
    ],
    ids=["ratio", "surplus", "time", "count", "quotient", "seconds"],
)
def test_what_is_shown_is_what_is_judged(kept: Figure, above: Figure) -> None:
    assert kept.kept
    assert not above.kept


def test_planning_is_timed_in_processes_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_PROCESSES", 1)
    rows = {figure.what: figure for figure in planning.figures()}
    assert len(rows) == 4
    assert rows["plan of kimi-k3-gb300, catalog loaded"].limit == "≤ 50 ms"


def test_a_figure_is_a_row_of_the_table() -> None:
    assert stated("import", 0.4).row == "| import | 400 ms |  | – |"  # noqa: RUF001 - a dash of the table
    assert (
        ratio("up ÷ floor", 11.0, 10.0, most=1.25).row == "| up ÷ floor | 1.10 | 11.0 s ÷ 10.0 s | ≤ 1.25 |"
    )


def test_an_exported_playbook_comes_back_with_its_secrets_in_clear() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
    host = {
        "name": "h1",
        "address": "10.0.0.2",
        "port": 22,
        "user": "root",
        "host_key": "ssh-ed25519 AAAA",
        "identity_file": "/k",
        "incarnation": "n1",
        "interface": "eth0",
    }
    resources = []
    for name in ("serve", "checkpoint", "access", "engine", "prepare"):
        inputs = {
            "fleet": "lab-1",
            "playbook": name,
            "hosts": [host],
            "variables": {},
            "host_variables": {},
            "secrets": {"serve_api_key": {**secret, "plaintext": json.dumps("k")}},
            "roles": {},
            "after": [],
            "drift": {},
        }
        outputs = {**inputs, "incarnation": "i", "run": "i.r", "facts": {}}
        resource = {"type": "rack:hosts:Playbook", "inputs": inputs, "outputs": outputs}
        resources.append(resource)
    order = ["prepare", "access", "engine", "checkpoint", "serve"]
    applied = playbooks.applied({"deployment": {"resources": resources}})
    assert [inputs.playbook for inputs, _ in applied] == order
    assert applied[0][0].secrets["serve_api_key"].get_secret_value() == "k"
    assert applied[0][1].incarnation == "i"

"""What the benchmark reads before it measures."""

import json
import subprocess
import sys

from tools.bench import playbooks
from tools.bench.watch import ansible_during


def test_a_process_of_ansible_is_seen_and_others_are_not() -> None:
    def run(name: str) -> None:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.4)", name], check=True)

    assert ansible_during(lambda: run("/usr/bin/ansible-playbook")) == 1
    assert ansible_during(lambda: run("/usr/bin/something")) == 0


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
    for name in ("serve", "checkpoint", "engine", "prepare"):
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
        outputs = {**inputs, "incarnation": "i", "run": "i.r"}
        resource = {"type": "rack:hosts:Playbook", "inputs": inputs, "outputs": outputs}
        resources.append(resource)
    four = playbooks.applied({"deployment": {"resources": resources}})
    assert [inputs.playbook for inputs, _ in four] == ["prepare", "engine", "checkpoint", "serve"]
    assert four[0][0].secrets["serve_api_key"].get_secret_value() == "k"
    assert four[0][1].incarnation == "i"

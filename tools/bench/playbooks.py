"""All playbooks on the same hosts: through Rackstack, and by plain `ansible-playbook`."""

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.hosts.inventory import inventory, known_hosts, literal
from components.hosts.playbook import PLAYBOOKS, Playbook, PlaybookInputs, PlaybookOutputs, run_variables
from components.plugin.operations import DRIFT
from components.plugin.wire import SIGNATURE
from stacks.errors import Refusal
from tools.drive.session import STATE

_ORDER = ("prepare", "access", "engine", "checkpoint", "serve")
_MEMORY = "/dev/shm"  # noqa: S108 -- a private folder is made inside; tmpfs keeps secrets off disks
_OURS = (DRIFT, "__defaults")  # added to the inputs on the way, no part of the kind's own

Applied = tuple[PlaybookInputs, PlaybookOutputs]


class Silent:
    """What a kind may use of the engine, without an engine."""

    name = "bench"
    stop = threading.Event()
    deadline = None

    def progress(self, message: str) -> None:
        """Keep quiet."""

    def note(self, message: str) -> None:
        """Keep quiet."""

    def warn(self, message: str) -> None:
        """Fail: a warning means that the two ways did not do the same.

        Raises:
            Refusal: Always.
        """
        raise Refusal(f"bench: {message}")


def applied(state: Mapping[str, Any]) -> list[Applied]:
    """Return inputs and outputs of all playbooks from a state exported with secrets, in order."""
    found = {
        each["inputs"]["playbook"]: each
        for each in state["deployment"]["resources"]
        if each["type"] == Playbook.token
    }
    return [_typed(found[name]) for name in _ORDER]


def seconds(playbooks: Sequence[Applied]) -> tuple[float, float]:
    """Return how long they all take through Rackstack and plainly, each on hosts without their traces.

    Both go twice, and neither always first, so that a busy moment does not decide.
    """
    taken = {through_rackstack: 0.0, plain: 0.0}
    for way in (plain, through_rackstack, through_rackstack, plain):
        for inputs, outputs in reversed(playbooks):
            Playbook().delete(inputs, outputs, Silent())
        begin = time.perf_counter()
        for each in playbooks:
            way(each)
        taken[way] += time.perf_counter() - begin
    return taken[through_rackstack] / 2, taken[plain] / 2


def through_rackstack(applied: Applied) -> None:
    """Run a playbook as an `up` does."""
    inputs, outputs = applied
    Playbook().update(inputs, inputs, outputs, Silent())


def plain(applied: Applied) -> None:
    """Run a playbook as a person without Rackstack does."""
    inputs, outputs = applied
    with tempfile.TemporaryDirectory(dir=_MEMORY) as name, (STATE / "bench.log").open("w") as log:
        folder = Path(name)
        command = _write_down(inputs, f"{outputs.incarnation}.bench", folder)
        # As Rackstack sets them.
        forks = {"ANSIBLE_FORKS": str(len(inputs.hosts)), "ANSIBLE_PIPELINING": "true"}
        path = f"{PLAYBOOKS.parent / '.venv/bin'}:{os.environ.get('PATH', os.defpath)}"
        status = subprocess.run(
            command,
            check=False,
            env=os.environ | forks | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        ).returncode
    if status:
        raise Refusal(f"bench: plain ansible-playbook {inputs.playbook}.yml failed: read {log.name}")


def _write_down(inputs: PlaybookInputs, run: str, folder: Path) -> list[str]:
    """Write inventory and variables as a person would; return the command."""
    for name, keys in known_hosts(inputs.hosts).items():
        (folder / name).write_text(keys)
    variables = inputs.variables | run_variables(inputs, run)
    hosts = inventory(inputs.hosts, variables, inputs.host_variables, str(folder))
    (folder / "inventory.yml").write_text(literal(hosts))
    secrets = {name: secret.get_secret_value() for name, secret in inputs.secrets.items()}
    (folder / "secrets.yml").touch(mode=0o600)
    (folder / "secrets.yml").write_text(literal(secrets))
    playbook = PLAYBOOKS / f"{inputs.playbook}.yml"
    return [
        "ansible-playbook",
        "-i",
        f"{folder}/inventory.yml",
        "-e",
        f"@{folder}/secrets.yml",
        str(playbook),
    ]


def _typed(resource: Mapping[str, Any]) -> Applied:
    inputs = {name: value for name, value in resource["inputs"].items() if name not in _OURS}
    return (
        PlaybookInputs.model_validate_json(json.dumps(in_clear(inputs))),
        PlaybookOutputs.model_validate_json(json.dumps(in_clear(resource["outputs"]))),
    )


def in_clear(value: Any) -> Any:
    """Return a value of a state that was exported with its secrets shown, with their texts in their place."""
    if isinstance(value, dict):
        if SIGNATURE in value:
            return in_clear(json.loads(value["plaintext"]))
        return {key: in_clear(item) for key, item in value.items()}
    return [in_clear(item) for item in value] if isinstance(value, list) else value

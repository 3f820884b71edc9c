"""What a real ssh makes of our arguments: it calls an ssh that only writes down what it was called with."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from components import results
from components.hosts import openssh
from components.hosts.inventory import inventory
from tests.factories import stacks
from tests.factories.hosts import KEY, host, jump

if TYPE_CHECKING:
    from components.hosts.record import Hop

CASES = yaml.safe_load((Path(__file__).parents[3] / "cases" / "hosts" / "ways.yaml").read_text())
RUN = "/run/rackstack-1"
SSH = shutil.which("ssh")
PRIVATE = stacks.planned("lab", {"access.sources": []}).access
WRITER = f"""#!{sys.executable}
import json, os, sys
with open(os.environ["CALLED"], "w") as file:
    json.dump(sys.argv[1:], file)
"""

needs_ssh = pytest.mark.skipif(SSH is None, reason="OpenSSH's client is not installed here")


@needs_ssh
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_line_of_a_private_endpoint_leads_through_the_jump_host(
    case: dict[str, Any], tmp_path: Path
) -> None:
    record = host(**case["host"], jump=jump(**case["jump"]))
    line = shlex.split(results.reach(PRIVATE, record.model_dump()))
    assert _called(line, tmp_path) == _expected(case["reach"])


@needs_ssh
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_ansible_goes_through_the_jump_host(case: dict[str, Any], tmp_path: Path) -> None:
    record = host(**case["host"], jump=jump(**case["jump"]))
    members = inventory([record], {}, {}, RUN)["all"]["children"]["fleet"]["hosts"]
    options = shlex.split(members["a"]["ansible_ssh_common_args"])  # as its connection plugin splits it
    port, user = str(members["a"]["ansible_port"]), members["a"]["ansible_user"]
    argv = ["ssh", *options, "-p", port, "-l", user, members["a"]["ansible_host"], "true"]
    assert _called(argv, tmp_path) == _expected(case["ansible"])


@needs_ssh
@pytest.mark.parametrize("name", ["key", "100%", "%h", "a key's", 'a "key"', r"a\key", "#key"])
def test_ssh_finds_the_key_whatever_its_file_is_called(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.touch()
    options = openssh.words({"ProxyCommand": "false"})  # the keys are looked for as soon as it has started
    argv = [str(SSH), "-v", *options, *openssh.login(host(identity_file=str(file)))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    written = str(file).replace("\\", "\\\\")  # as its log has it
    assert f"identity file {written} type " in done.stderr


def test_a_host_is_known_by_its_port_where_it_is_not_the_usual_one() -> None:
    hops: list[Hop] = [host(), host("b", port=2201), jump(port=2222)]
    assert openssh.known_hosts(hops) == (f"127.0.0.1 {KEY}\n[127.0.0.1]:2201 {KEY}\n[192.0.2.1]:2222 {KEY}\n")


def _called(argv: list[str], folder: Path) -> list[str]:
    """Return what the inner ssh is called with when the outer one is real."""
    assert SSH is not None
    writer, called = folder / "ssh", folder / "called.json"
    writer.write_text(WRITER)
    writer.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "CALLED": str(called), "HOME": str(folder)}
    subprocess.run([SSH, *argv[1:]], env=environment, capture_output=True, timeout=30, check=False)
    words: list[str] = json.loads(called.read_text())
    return words


def _expected(words: list[str]) -> list[str]:
    return [word.replace("KEY", KEY).replace("RUN", RUN) for word in words]

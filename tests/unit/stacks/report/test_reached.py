"""Machines that a person lists: how they are reached, by lines that work as they stand, and no secret."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stacks import report
from stacks.planning import FleetPlan
from tests.factories.hosts import KEY
from tests.factories.stacks import planned
from tests.unit.stacks.report.test_svg import assert_readable, page, texts

KEY2 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBY2eqy2ekoBfI2oq5VoLMs5CGN4D3EU3aCg4MVWRMfE"
LISTED = {
    "machines.hosts": [
        {"address": "10.20.0.11", "host_key": KEY, "user": "ubuntu", "port": 2222},
        {"address": "10.20.0.12", "host_key": KEY2, "nics": ["mlx5_0", "mlx5_1"]},
    ],
    "machines.identity": "~/my keys/fleet",
    "machines.mirror": "http://10.20.0.2/m",
    "machines.keep": ["checkpoint"],
}
JUMP = {
    "machines.jump": {
        "address": "bastion.example.org",
        "user": "ann",
        "port": 2200,
        "host_key": KEY,
        "identity": "~/.ssh/jump",
    }
}
SAID = (
    "reached by SSH: tray-0 ubuntu@10.20.0.11:2222, tray-1 root@10.20.0.12:22, with the key ~/my keys/fleet",
    "RDMA devices that alone count: tray-1 mlx5_0, mlx5_1 (nics of machines.hosts)",
    "through the jump host ann@bastion.example.org:2200, with the key ~/.ssh/jump",
    "wheels and checkpoint come from http://10.20.0.2/m",
    "`destroy` leaves checkpoint on them (machines.keep)",
)


@pytest.fixture(scope="module")
def plan() -> FleetPlan:
    return planned("kimi-k3-gb300", LISTED | JUMP)


def line(plan: FleetPlan) -> str:
    [found] = re.findall(r"^- the way there: `(.*)`$", report.markdown(plan), re.MULTILINE)
    return str(found)


def understood(words: list[str]) -> dict[str, str]:
    """Return what OpenSSH's client makes of a call; it connects to nothing."""
    done = subprocess.run(["ssh", "-G", *words[1:]], capture_output=True, text=True, check=True)
    return dict(row.split(" ", 1) for row in done.stdout.splitlines() if " " in row)


@pytest.mark.parametrize("said", SAID)
def test_text_and_picture_tell_how_machines_are_reached_and_what_stays(plan: FleetPlan, said: str) -> None:
    assert f"- {said} " in " ".join(report.markdown(plan).split())
    drawn = " ".join(words for words, _ in texts(page(report.svg(plan))[0]))
    assert said.replace("`", "").lower() in drawn.lower()


def test_the_picture_stays_readable(plan: FleetPlan) -> None:
    assert_readable(report.svg(plan))


def test_programs_get_all_of_it(plan: FleetPlan) -> None:
    found = json.loads(report.json(plan))
    assert [host["listed"]["address"] for host in found["plan"]["hosts"]] == ["10.20.0.11", "10.20.0.12"]
    claims: dict[str, Any] = found["plan"]["claims"]
    assert (claims["jump"]["address"], claims["mirror"], claims["keep"]) == (
        "bastion.example.org",
        "http://10.20.0.2/m",
        ["checkpoint"],
    )


def test_the_line_to_the_gateway_is_one_that_ssh_takes(
    tmp_path: Path,
) -> None:
    # Where ssh does not find a key, it does not take it; it finds home by the account, not by HOME.
    own, of_jump = tmp_path / "my keys", tmp_path / "jump"
    own.touch()
    of_jump.touch()
    keys = {
        "machines.identity": str(own),
        "machines.jump": JUMP["machines.jump"] | {"identity": str(of_jump)},
    }
    known = understood(shlex.split(line(planned("kimi-k3-gb300", LISTED | keys))))
    assert (known["hostname"], known["port"], known["user"]) == ("10.20.0.11", "2222", "ubuntu")
    assert known["identityfile"] == str(own)
    assert known["localforward"] == "8443 [127.0.0.1]:8443"
    proxy = known["proxycommand"].replace("%h", "10.20.0.11").replace("%p", "2222")
    inner = understood(shlex.split(proxy))
    assert (inner["hostname"], inner["port"], inner["user"]) == ("bastion.example.org", "2200", "ann")
    assert inner["identityfile"] == str(of_jump)
    assert shlex.split(proxy)[1:3] == ["-W", "10.20.0.11:2222"]


def test_the_line_leaves_the_folder_of_its_account_to_the_shell(plan: FleetPlan) -> None:
    proxy = "ssh -W %h:%p -i ~/.ssh/jump -o IdentitiesOnly=yes -p 2200 ann@bastion.example.org"
    assert line(plan) == (
        f"ssh -N -L 8443:127.0.0.1:8443 -o 'ProxyCommand={proxy}' "
        "-i ~/'my keys/fleet' -o IdentitiesOnly=yes -p 2222 ubuntu@10.20.0.11"
    )


def test_without_a_jump_host_nothing_is_said_of_one() -> None:
    plan = planned("kimi-k3-gb300", LISTED)
    assert "jump" not in report.markdown(plan)
    assert "ProxyCommand" not in line(plan)


def test_commands_and_address_have_the_listed_addresses(plan: FleetPlan) -> None:
    text = report.markdown(planned("kimi-k3-gb300", LISTED | {"access.sources": ["10.0.0.0/8"]}))
    assert "## Commands\n" in text
    assert "--master-addr 10.20.0.11" in text
    assert "https://10.20.0.11:8443/v1" in text
    assert json.loads(report.json(plan))["commands"][1]["argv"].count("10.20.0.11")


def test_machines_that_nobody_has_listed_yet_are_called_by_their_names() -> None:
    plan = planned("kimi-k3-gb300")
    assert line(plan) == "ssh -N -L 8443:127.0.0.1:8443 tray-0"
    assert "reached by SSH" not in report.markdown(plan)

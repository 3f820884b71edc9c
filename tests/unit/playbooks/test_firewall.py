"""The firewall's rules as text, who they would lock out, and when they are put in force again."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tests.unit.playbooks.files import PLAYBOOKS, program

ROLE = PLAYBOOKS / "roles" / "firewall"
CASES = Path(__file__).parents[2] / "cases" / "firewall"
INSIDE = yaml.safe_load((CASES / "inside.yaml").read_text())
RULES = yaml.safe_load((CASES / "rules.yaml").read_text())
HOST: dict[str, Any] = {
    "firewall_table": "inet rackstack",
    "firewall_members": ["10.0.0.10", "10.0.0.11"],
    "firewall_operators_here": ["10.0.0.1"],
    "firewall_sources_here": [],
    "firewall_gateway_port": 8443,
    "firewall_ssh_port": "2222",
    "firewall_is_gateway": False,
    "firewall_guarded_ports": [],
    "firewall_gateway_user": "rackstack-gateway",
    "firewall_survey": {"uid": 997},
}
survey = program("roles/firewall/files/survey.py")
look = program("roles/firewall/files/look.py")


def rules(variables: dict[str, Any]) -> str:
    """Return the rules in one line, as Ansible would fill them in."""
    language = Environment(  # noqa: S701 -- no HTML
        loader=FileSystemLoader(ROLE / "templates"), undefined=StrictUndefined, trim_blocks=True
    )
    language.tests["search"] = lambda text, part: part in text
    return " ".join(language.get_template("firewall.nft.j2").render(HOST | variables).split())


@pytest.mark.parametrize("case", INSIDE, ids=[case["name"] for case in INSIDE])
def test_who_would_be_locked_out(case: dict[str, Any]) -> None:
    assert survey.inside(case["address"], case["networks"]) == case["inside"]


@pytest.mark.parametrize("case", RULES, ids=[case["name"] for case in RULES])
def test_the_rules_of_a_host(case: dict[str, Any]) -> None:
    shown = rules(case["with"])
    assert [part for part in case["hold"] if part not in shown] == []
    assert [part for part in case["lack"] if part in shown] == []


def test_a_file_replaces_the_whole_table_and_touches_no_other() -> None:
    shown = re.sub(r"#[^\n]*\n", "", (ROLE / "templates/firewall.nft.j2").read_text())
    assert "flush" not in shown
    tables = re.findall(r"^(?:delete )?table .*$", shown, re.MULTILINE)
    assert tables == [
        "table {{ firewall_table }}",
        "delete table {{ firewall_table }}",
        "table {{ firewall_table }} {",
    ]


def test_what_a_host_lacks_is_named_with_its_package(tmp_path: Path) -> None:
    (lack,) = survey.lacks(str(tmp_path / "nft"))
    assert lack.endswith("install the package nftables")


def test_a_kernel_without_nftables_is_named(tmp_path: Path) -> None:
    nft = tmp_path / "nft"
    nft.write_text("#!/bin/sh\necho 'cache initialization failed: Operation not supported' >&2; exit 1\n")
    nft.chmod(0o755)
    (lack,) = survey.lacks(str(nft))
    assert lack.startswith(
        "the kernel refuses nftables (cache initialization failed: Operation not supported)"
    )
    assert "nf_tables" in lack


def test_a_missing_user_is_named_only_where_ports_are_guarded() -> None:
    assert survey.user_id("no-such-user") is None
    assert survey.user_id("root") == 0
    assert list(survey.user_lacks("", None)) == []
    (lack,) = survey.user_lacks("rackstack-gateway", None)
    assert lack.startswith("user rackstack-gateway is missing")


@pytest.mark.parametrize(
    ("states", "text", "why"),
    [
        ({}, "rules", ""),
        ({"is-active back.timer": "active"}, "rules", "back.timer still waits to take the rules back"),
        ({}, "others", "firewall.nft is not the wanted one"),
        ({}, None, "firewall.nft is not the wanted one"),
        ({"is-enabled wall.service": "disabled"}, "rules", "wall.service is not enabled"),
        ({"is-active wall.service": "failed"}, "rules", "wall.service is not active"),
    ],
)
def test_rules_in_force_that_would_not_last_are_put_in_force_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, states: dict[str, str], text: str | None, why: str
) -> None:
    good = {"is-active back.timer": "inactive", "is-enabled wall.service": "enabled"}
    answers = good | {"is-active wall.service": "active"} | states

    def systemctl(argv: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, 0, answers[" ".join(argv[1:])] + "\n", "")

    monkeypatch.setattr(look.subprocess, "run", systemctl)
    file = tmp_path / "firewall.nft"
    if text is not None:
        file.write_text(text)
    want = {"unit": "wall.service", "way_back": "back", "file": str(file), "rules": "rules"}
    assert look.not_kept(want).removeprefix(f"{tmp_path}/") == why

"""The report holds what a person decides by, and fits a screen."""

import subprocess

import pytest

from stacks.planning import FleetPlan, commands
from stacks.report import text


@pytest.fixture(scope="module")
def report(two_hosts: FleetPlan) -> str:
    return text(two_hosts)


def test_it_fits_a_screen(report: str) -> None:
    assert len(report.splitlines()) <= 60


def test_commands_paste_into_a_shell_as_they_run(report: str, two_hosts: FleetPlan) -> None:
    blocks = [block for block in report.split("\n\n") if block.startswith("    env ")]
    expected = commands(two_hosts, {host.name: host.name for host in two_hosts.hosts})
    assert [words(block) for block in blocks] == [
        ["env", *(f"{name}={value}" for name, value in one.env.items()), *one.argv] for one in expected
    ]


def words(block: str) -> list[str]:
    shell = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {block}"], capture_output=True, text=True, check=True
    )
    return shell.stdout.splitlines()


@pytest.mark.parametrize(
    "fact",
    [
        "# lab: small-chat on 2 lab host(s)",
        "host-0: 1 core(s), 4.0 GiB; rank 0 on core 0, head, serves the API",
        "rank: 3.0 GiB of 4.0 GiB",
        "8000 on host-0",
        "29501 on host-0",
        "engine cpu-1.2.3: release 1.2.3, stacks/catalog/locks/cpu-1.2.3.lock",
        "checkpoint small: revision 1f2e3d, 2 files, 1,572,864 bytes",
        "first completion 600 s",
        "Evidence: ",
        "nothing here was run by us on a GPU",
    ],
)
def test_it_holds(report: str, fact: str) -> None:
    assert fact in report

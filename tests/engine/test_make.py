"""What `make` calls, on a copy of this project, as far as it comes without machines."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.factories.project import copy_project
from tests.factories.pulumi import LIMIT, Pulumi

STACK_FILE = "stacks/Pulumi.lab.yaml"


class Checkout:
    """A copy of this project under git, with a backend and a passphrase of its own in `.state`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        copy_project(home)
        self._call("git", "init", "--quiet")
        self._call("git", "add", "--all")

    def drive(self, verb: str, stack: str = "lab") -> subprocess.CompletedProcess[str]:
        """Do what `make VERB STACK=stack` does once everything is installed."""
        return self._call(sys.executable, "-m", "tools.drive", verb, stack)

    def bootstrap(self, stack: str) -> subprocess.CompletedProcess[str]:
        """Do what `make up STACK=stack` does before that."""
        return self._call(sys.executable, "-m", "tools.bootstrap", "--stack", stack)

    def set_secret(self, name: str, value: str) -> None:
        """Do what the README says: Pulumi itself, with the backend and the passphrase of `make`."""
        state = self.home / ".state"
        made = {
            "PULUMI_BACKEND_URL": f"file://{state}/backend",
            "PULUMI_CONFIG_PASSPHRASE_FILE": f"{state}/passphrase",
        }
        self._call("pulumi", "config", "set", "--secret", name, value, "--stack", "lab", **made)

    def changed(self) -> str:
        """Return what git would say has changed since the copy was made."""
        seen = (
            self._call("git", "diff", "--name-only"),
            self._call("git", "ls-files", "-o", "--exclude-standard"),
        )
        return "".join(each.stdout for each in seen)

    def _call(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, cwd=self.home, env=self._environment() | more, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=LIMIT,
        )  # fmt: skip

    def _environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return own | {"PATH": path, "PULUMI_HOME": str(self.home / ".state/pulumi")}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Return a fresh copy."""
    return Checkout(tmp_path / "project")


def test_a_stack_is_made_looked_at_and_taken_away_beside_an_untouched_file(checkout: Checkout) -> None:
    preview = checkout.drive("preview")
    assert "17 to create" in preview.stdout, preview.stderr
    outputs = checkout.drive("outputs")
    assert json.loads(outputs.stdout) == {}
    assert checkout.changed() == ""
    assert checkout.drive("down").returncode == 0
    again = checkout.drive("down")
    assert again.stdout == "stack lab does not exist: nothing to take away\n"
    assert again.returncode == 0
    assert checkout.changed() == ""


def test_a_salt_that_pulumi_left_in_the_stack_file_by_hand_is_no_obstacle(
    checkout: Checkout, tmp_path: Path
) -> None:
    Pulumi(checkout.home, tmp_path / "state", "lab").run("stack", "init", "lab")
    assert "encryptionsalt" in (checkout.home / STACK_FILE).read_text()
    preview = checkout.drive("preview")
    assert "17 to create" in preview.stdout, preview.stderr
    again = checkout.drive("preview")
    assert again.returncode == 0, again.stderr


def test_a_secret_that_was_set_with_the_passphrase_of_make_is_read(checkout: Checkout) -> None:
    file = checkout.home / STACK_FILE
    assert "17 to create" in checkout.drive("preview").stdout
    keys = "      keys: [{name: own, secret: apiKey}]\n"
    file.write_text(file.read_text().replace("    access:\n", f"    access:\n{keys}"))
    refused = checkout.drive("preview")
    assert "`pulumi config set --secret apiKey`" in refused.stdout
    checkout.set_secret("apiKey", "rk-own-0123456789abcdef")
    preview = checkout.drive("preview")
    assert "16 to create" in preview.stdout, preview.stderr
    assert "rk-own-0123456789abcdef" not in f"{file.read_text()}{preview.stdout}"


@pytest.mark.parametrize("verb", ["outputs", "down"])
def test_an_unknown_stack_is_told_with_those_that_exist(checkout: Checkout, verb: str) -> None:
    refused = checkout.drive(verb, "lob")
    assert refused.returncode == 1
    assert refused.stdout == ""
    told = "STACK=lob: there is no Pulumi.lob.yaml in stacks/; did you mean lab? known are: kimi-"
    assert refused.stderr.startswith(told)
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", ["up", "preview", "down"])
def test_a_stack_file_that_is_no_yaml_is_refused_with_line_and_column(checkout: Checkout, verb: str) -> None:
    if verb == "down":
        checkout.drive("preview")
    file = checkout.home / STACK_FILE
    file.write_text(file.read_text().replace("    model: ", "    model = "))
    refused = checkout.drive(verb)
    assert refused.returncode == 1
    assert re.fullmatch(r"stacks/Pulumi\.lab\.yaml:\d+:\d+: is not YAML: .*\n", refused.stderr)
    assert refused.stdout == ""


def test_a_fleet_without_machines_is_previewed_and_not_brought_up(checkout: Checkout) -> None:
    preview = checkout.drive("preview", "kimi-k3-gb300")
    assert "rack:fleet:Machine tray-1 create" in preview.stdout, preview.stderr
    needs = checkout.bootstrap("kimi-k3-gb300")
    assert (needs.returncode, needs.stdout, needs.stderr) == (0, "", "")
    up = checkout.drive("up", "kimi-k3-gb300")
    assert up.returncode != 0
    assert "`up` cannot start this fleet yet" in up.stdout
    assert checkout.changed() == ""


def test_outputs_of_a_stack_that_was_never_up_say_how_to_have_them(checkout: Checkout) -> None:
    refused = checkout.drive("outputs")
    assert refused.returncode == 1
    assert refused.stderr == "stack lab does not exist: `make up STACK=lab` brings it up\n"

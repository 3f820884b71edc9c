"""The real Pulumi, driven as a person drives it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

from lifecycle import recover
from lifecycle.stack import Stack

LIMIT = 900.0
"""Seconds after which a command is killed: a test that hangs must fail."""


class Running:
    """A command under way; its output can be followed."""

    def __init__(self, arguments: list[str], home: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            arguments, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self._timer = threading.Timer(LIMIT, self.process.kill)
        self._timer.daemon = True
        self._timer.start()

    @property
    def text(self) -> str:
        """What it has printed so far."""
        return "".join(self.lines)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Follow the output until a line matches."""
        for line in self._follow():
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"{pattern} was never printed:\n{self.text}")

    def finish(self) -> int:
        """Follow the output to its end; return the exit status."""
        with self.process.stdout or nullcontext():
            for _ in self._follow():
                pass
        status = self.process.wait()
        self._timer.cancel()
        return status

    def _follow(self) -> Any:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            yield line


class Pulumi:
    """One stack of the project in `home`, in a backend of its own below `state`."""

    project: ClassVar[str] = "rackstack"

    def __init__(self, home: Path, state: Path, stack: str, **environment: str) -> None:
        self.home = home
        self.stack = stack
        (state / "backend").mkdir(parents=True)
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PULUMI_HOME": str(state / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{state}/backend",
            "PULUMI_CONFIG_PASSPHRASE": "for tests only",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **environment,
        }

    def start(self, *arguments: str) -> Running:
        """Start a command."""
        return Running(
            ["pulumi", *arguments, "--non-interactive", "--color", "never"], self.home, self.environment
        )

    def run(self, *arguments: str, code: int | None = 0) -> str:
        """Run a command; its exit status must be `code`, if one is given. Returns what it printed."""
        running = self.start(*arguments)
        status = running.finish()
        assert code in (None, status), f"exit status {status}:\n{running.text}"
        return running.text

    def start_up(self) -> Running:
        """Start `up`."""
        return self.start("up", "--yes", "--skip-preview", "--refresh", "--stack", self.stack)

    def up(self, code: int = 0) -> str:
        """Run `up` with a look first."""
        return self.run("up", "--yes", "--skip-preview", "--refresh", "--stack", self.stack, code=code)

    def destroy(self, code: int = 0) -> str:
        """Run `destroy`."""
        return self.run("destroy", "--yes", "--skip-preview", "--stack", self.stack, code=code)

    def recover(self) -> None:
        """Clear away what a killed command left, as `make` does before the next one."""
        list(recover.free(self.known()))

    def known(self) -> Stack:
        """Return the stack as `lifecycle` knows it."""
        return Stack(self.stack, self.environment, self.home, self.project)

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs, secrets shown."""
        shown = self.run("stack", "output", "--json", "--show-secrets", "--stack", self.stack)
        outputs: dict[str, Any] = json.loads(shown)
        return outputs

    def state(self) -> dict[str, dict[str, Any]]:
        """Return our custom resources in state by logical name."""
        exported = json.loads(self.run("stack", "export", "--stack", self.stack))
        resources = exported["deployment"].get("resources", [])
        ours = [each for each in resources if each["type"].startswith("rack:") and each["custom"]]
        return {each["urn"].rsplit("::", 1)[1]: each for each in ours}

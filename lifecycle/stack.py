"""One stack in its backend, as Pulumi's own commands show and change it."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lifecycle.environment import CHECKOUT, PROJECT
from stacks.errors import Refusal

_ANSWER = 300.0  # seconds for a question to the backend, which may be far away


class Stack:
    """A stack, whether its backend has it or not.

    Attributes:
        name: Its name.
        environment: Environment of every `pulumi`.
        folder: The Pulumi project's folder.
        project: The project's name.
    """

    def __init__(
        self, name: str, environment: Mapping[str, str], folder: Path = CHECKOUT, project: str = PROJECT
    ) -> None:
        self.name = name
        self.environment = dict(environment)
        self.folder = folder
        self.project = project

    @property
    def backend(self) -> str:
        """Where the state lies, as a URL."""
        return self.environment["PULUMI_BACKEND_URL"]

    def ask(self, *words: str, folder: Path | None = None, stdin: str = "") -> str:
        """Return what `pulumi` prints on stdout.

        Raises:
            Refusal: It failed, and the sentence is pulumi's own last words; or it took too long.
        """
        command, name = ["pulumi", *words, "--non-interactive"], f"`pulumi {' '.join(words[:2])}`"
        try:
            done = subprocess.run(
                command,
                check=False,
                cwd=folder or self.folder,
                env=self.environment,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=_ANSWER,
            )
        except subprocess.TimeoutExpired:
            raise Refusal(
                f"{name} had no answer from {self.backend} within {_ANSWER:g} s: "
                "look whether it can be reached"
            ) from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise Refusal(f"{name} failed: {last.removeprefix('error: ')}")
        return done.stdout

    def exists(self) -> bool:
        """Return whether the backend has the stack."""
        stacks = json.loads(self.ask("stack", "ls", "--json"))
        return self.name in {each["name"].rsplit("/", 1)[-1] for each in stacks}

    def export(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the state as `pulumi stack export` does; secrets are ciphertext unless asked for."""
        shown = self.ask("stack", "export", "--stack", self.name, *["--show-secrets"] * secrets)
        state: dict[str, Any] = json.loads(shown)
        return state

    def replace(self, state: Mapping[str, Any]) -> None:
        """Put a changed export in the place of the state; Pulumi takes the stack's lock for it.

        Raises:
            Refusal: Somebody holds the lock, or the state is none.
        """
        self.ask("stack", "import", "--stack", self.name, stdin=json.dumps(state))

    def cancel(self) -> None:
        """Remove every lock of the stack; Pulumi does not ask whether their owners live."""
        self.ask("cancel", "--yes", "--stack", self.name)

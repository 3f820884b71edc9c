"""One stack as `make` works on it: a stack in its backend, with a working copy of its file."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from lifecycle import environment as places
from lifecycle import files, orphans, recover
from lifecycle.stack import Stack
from stacks import config
from stacks.errors import Refusal
from stacks.faults import nearest
from tools.bootstrap import engine

STATE = places.STATE
_SALT = "encryptionsalt:"
_ENCRYPTED = "secure:"


class Session(Stack):
    """One stack of this checkout.

    Raises:
        Refusal: No stack file of that name, or no Pulumi engine.
    """

    def __init__(self, stack: str) -> None:
        self.committed = places.CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml"
        known = sorted(path.name.split(".", 1)[1][: -len(".yaml")] for path in _stack_files())
        if stack not in known:
            raise Refusal(
                f"STACK={stack}: there is no Pulumi.{stack}.yaml in stacks/; {nearest(stack, known)}; "
                "or write the file"
            )
        self.copy = places.STATE / self.committed.name
        self._init = places.STATE / "init"
        super().__init__(stack, places.environment(engine.ensure()), places.CHECKOUT)

    def run(self, *words: str) -> int:
        """Run `pulumi` in the foreground and return its status.

        Ctrl-C reaches pulumi by itself, which then ends in order; this process waits for it.
        """
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return subprocess.run(
                ["pulumi", *words], check=False, cwd=self.folder, env=self.environment
            ).returncode
        finally:
            signal.signal(signal.SIGINT, before)

    def operate(self, verb: str, *words: str) -> int:
        """Run an operation on the stack with its working copy."""
        self._renew_copy()
        return self.run(verb, "--stack", self.name, "--config-file", str(self.copy), *words)

    def create(self) -> None:
        """Make the stack in the backend where it is new.

        `stack init` writes a salt into the stack file of its project. It gets a project
        of the same name in `.state`, so that the committed file is never touched.

        Raises:
            ConfigError: The stack file is none; what is wrong has its line and column.
        """
        self._written()
        if self.exists():
            return
        self.forget()
        self._init.mkdir(exist_ok=True)
        (self._init / "Pulumi.yaml").write_text(f"name: {self.project}\nruntime: python\n")
        self.ask("stack", "init", self.name, "--no-select", folder=self._init)
        self._renew_copy()

    def forget(self) -> None:
        """Remove the working copy and the salt of a stack that is gone."""
        self.copy.unlink(missing_ok=True)
        (self._init / self.committed.name).unlink(missing_ok=True)

    def outputs(self, *words: str) -> dict[str, Any]:
        """Return the stack's outputs; secrets are masked unless asked for."""
        answer: dict[str, Any] = json.loads(
            self.ask("stack", "output", "--json", "--stack", self.name, *words)
        )
        return answer

    def make_readable(self) -> None:
        """Clear away what keeps every command from reading the stack, unless somebody works on it.

        Raises:
            Refusal: The state file is damaged.
        """
        place = files.root(self.backend)
        if place and not files.locks(place, self):
            files.clear_notes(self)
        files.require_whole(self)

    def free(self) -> None:
        """Clear up after a killed run, as far as it stands in the way of the next one; tell what was done.

        A backend that is no folder tells who holds the stack only when it refuses; the next run sees that.

        Raises:
            Refusal: The run that holds the stack lives or may live, or the state file is damaged.
        """
        local = files.root(self.backend) is not None
        for line in recover.free(self) if local else orphans.end(self):
            print(f"recover: {line}", flush=True)

    def _written(self) -> str:
        """Return the committed file; Pulumi would tell its faults one by one and without their column."""
        source = f"stacks/{self.committed.name}"
        text = config.text_of(self.committed, source)
        config.read(text, source)
        return text

    def _renew_copy(self) -> None:
        """Bring the working copy up to the committed file, with this stack's own salt."""
        owned = [path for path in (self.copy, self._init / self.committed.name) if path.exists()]
        ours = self.environment.get("PULUMI_CONFIG_PASSPHRASE_FILE") == str(places.passphrase_file())
        text = salted(self._written(), owned[0].read_text() if owned else "", ours=ours)
        if not self.copy.exists() or self.copy.read_text() != text:
            self.copy.write_text(text)


def salted(committed: str, own: str, *, ours: bool) -> str:
    """Return a committed stack file with the salt that its stack needs.

    A salt in the committed file, as `pulumi stack init` leaves it, belongs to a person's passphrase.
    With ours it stays only beside secrets, which nothing else can read.

    Args:
        committed: The stack file, as text.
        own: The file that holds the salt of our working copy, as text.
        ours: Whether the passphrase is ours.
    """
    salt = [line for line in own.splitlines() if line.startswith(_SALT)]
    if not salt or (_SALT in committed and (_ENCRYPTED in committed or not ours)):
        return committed
    kept = [line for line in committed.splitlines() if not line.startswith(_SALT)]
    return "".join(f"{line}\n" for line in [*kept, *salt])


def _stack_files() -> list[Path]:
    return [path for path in (places.CHECKOUT / "stacks").glob("Pulumi.*.yaml") if path.is_file()]

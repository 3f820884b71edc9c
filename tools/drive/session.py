"""One stack as `make` works on it: its environment, its place in the backend, its working copy."""

import json
import os
import secrets
import signal
import subprocess
from pathlib import Path
from typing import Any

from stacks import config
from stacks.errors import Refusal
from stacks.faults import nearest
from tools.bootstrap import engine
from tools.bootstrap.work import CHECKOUT
from tools.drive import backend

STATE = CHECKOUT / ".state"
_PROJECT = "rackstack"
_SALT = "encryptionsalt:"
_ENCRYPTED = "secure:"
_ANSWER = 300.0  # seconds for a question to the backend, which may be far away


def environment() -> dict[str, str]:
    """Return the environment in which `pulumi` works on this checkout.

    What the person has set wins: PULUMI_BACKEND_URL and the passphrase. Otherwise
    both lie in `.state`.

    Raises:
        Refusal: There is no Pulumi engine and none can be had.
    """
    STATE.mkdir(exist_ok=True)
    chosen = dict(os.environ)
    chosen.pop("PYTHONPATH", None)
    chosen["PATH"] = f"{CHECKOUT / '.venv/bin'}:{engine.ensure()}:{chosen.get('PATH', os.defpath)}"
    chosen["PULUMI_SKIP_UPDATE_CHECK"] = "1"
    # The SDK of pulumi-kubernetes is installed, and nothing uses its plugin yet: without this, every
    # command tries to download it.
    chosen["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    if "PULUMI_BACKEND_URL" not in chosen:
        (STATE / "backend").mkdir(exist_ok=True)
        chosen["PULUMI_BACKEND_URL"] = f"file://{STATE / 'backend'}"
    if not {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"} & set(chosen):
        chosen["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(_passphrase())
    return chosen


def _passphrase_file() -> Path:
    return STATE / "passphrase"


def _passphrase() -> Path:
    path = _passphrase_file()
    if not path.exists():
        part = path.with_name(f".passphrase.{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(secrets.token_urlsafe(32))
        part.rename(path)
    return path


class Session:
    """One stack of this checkout.

    Raises:
        Refusal: No stack file of that name, or no Pulumi engine.
    """

    def __init__(self, stack: str) -> None:
        self.stack = stack
        self.committed = CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml"
        known = sorted(path.name.split(".", 1)[1][: -len(".yaml")] for path in _stack_files())
        if stack not in known:
            raise Refusal(
                f"STACK={stack}: there is no {self.committed.name} in stacks/; {nearest(stack, known)}; "
                "or write the file"
            )
        self.copy = STATE / self.committed.name
        self._init = STATE / "init"
        self.environment = environment()

    def run(self, *words: str) -> int:
        """Run `pulumi` in the foreground and return its status.

        Ctrl-C reaches pulumi by itself, which then ends in order; this process waits for it.
        """
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return subprocess.run(
                ["pulumi", *words], check=False, cwd=CHECKOUT, env=self.environment
            ).returncode
        finally:
            signal.signal(signal.SIGINT, before)

    def ask(self, *words: str, folder: Path = CHECKOUT) -> str:
        """Return what `pulumi` prints on stdout.

        Raises:
            Refusal: It failed, and the sentence is pulumi's own last line; or it took too long.
        """
        command, name = ["pulumi", *words, "--non-interactive"], f"`pulumi {' '.join(words[:2])}`"
        try:
            done = subprocess.run(
                command,
                check=False,
                cwd=folder,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=_ANSWER,
            )
        except subprocess.TimeoutExpired:
            backend = self.environment["PULUMI_BACKEND_URL"]
            raise Refusal(
                f"{name} had no answer from {backend} within {_ANSWER:g} s: look whether it can be reached"
            ) from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise Refusal(f"{name} failed: {last.removeprefix('error: ')}")
        return done.stdout

    def operate(self, verb: str, *words: str) -> int:
        """Run an operation on the stack with its working copy."""
        self._renew_copy()
        return self.run(verb, "--stack", self.stack, "--config-file", str(self.copy), *words)

    def exists(self) -> bool:
        """Return whether the backend has the stack."""
        stacks = json.loads(self.ask("stack", "ls", "--json"))
        return self.stack in {each["name"].rsplit("/", 1)[-1] for each in stacks}

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
        (self._init / "Pulumi.yaml").write_text(f"name: {_PROJECT}\nruntime: python\n")
        self.ask("stack", "init", self.stack, "--no-select", folder=self._init)
        self._renew_copy()

    def forget(self) -> None:
        """Remove the working copy and the salt of a stack that is gone."""
        self.copy.unlink(missing_ok=True)
        (self._init / self.committed.name).unlink(missing_ok=True)

    def outputs(self, *words: str) -> dict[str, Any]:
        """Return the stack's outputs; secrets are masked unless asked for."""
        answer: dict[str, Any] = json.loads(
            self.ask("stack", "output", "--json", "--stack", self.stack, *words)
        )
        return answer

    def recover(self) -> None:
        """Clear away what a killed run left in the backend.

        `pulumi cancel` does not ask whether the owner of a lock lives, so it is asked here.
        """
        if backend.recover(self.environment["PULUMI_BACKEND_URL"], _PROJECT, self.stack):
            self.ask("cancel", "--yes", "--stack", self.stack)

    def _written(self) -> str:
        """Return the committed file; Pulumi would tell its faults one by one and without their column."""
        source = f"stacks/{self.committed.name}"
        text = config.text_of(self.committed, source)
        config.read(text, source)
        return text

    def _renew_copy(self) -> None:
        """Bring the working copy up to the committed file, with this stack's own salt."""
        owned = [path for path in (self.copy, self._init / self.committed.name) if path.exists()]
        ours = self.environment.get("PULUMI_CONFIG_PASSPHRASE_FILE") == str(_passphrase_file())
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
    return [path for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml") if path.is_file()]

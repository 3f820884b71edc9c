"""The two Pulumi projects that are compared, and how long their commands take."""

import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import yaml

from stacks.errors import Refusal
from tools.bootstrap.work import CHECKOUT
from tools.drive.session import STATE, Session

_FLOOR = Path(__file__).parent / "floor"
# Nothing but the work itself: no terminal, no questions.
QUIET = ("--non-interactive", "--color=never", "--suppress-outputs")


class Project:
    """One stack of one project, ready for timing.

    Args:
        session: Gives the environment.
        folder: The project's folder.
        stack: Its stack.
        config: Its configuration file.
    """

    def __init__(self, session: Session, folder: Path, stack: str, config: Path) -> None:
        self._session = session
        self._folder = folder
        self._target = ("--stack", stack, "--config-file", str(config))

    def seconds(self, *words: str) -> float:
        """Run a command of `pulumi` on the stack and return how long it took.

        Raises:
            Refusal: It failed; what it printed lies in the file that the sentence names.
        """
        log = STATE / "bench.log"
        command = ["pulumi", *words, *self._target, *QUIET]
        with log.open("w") as file:
            begin = time.perf_counter()
            status = subprocess.run(
                command,
                check=False,
                cwd=self._folder,
                env=self._session.environment | {"PULUMI_DEBUG_COMMANDS": "1"},  # for --event-log
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            ).returncode
            taken = time.perf_counter() - begin
        if status:
            kept = log.rename(STATE / "bench.failed.log")
            raise Refusal(f"bench: `{' '.join(command[:2])}` in {self._folder} failed: read {kept}")
        return taken


def lab(session: Session) -> Project:
    """Return the lab's project; its stack exists and nothing is up.

    Raises:
        Refusal: The stack exists already, so that no first `up` can be measured.
    """
    if session.exists():
        raise Refusal(
            f"bench: stack {session.name} exists and a first `up` is measured: run `make down` first"
        )
    session.create()
    return Project(session, session.committed.parents[1], session.name, session.copy)


def floor(session: Session) -> Project:
    """Return the floor's project in a backend of its own, up."""
    project = _apart(session.name, "floor", _FLOOR)
    project.seconds("up", "--yes", "--skip-preview")
    return project


def planned(stack: str) -> Project:
    """Return this project with another of its stacks, in a backend of its own; nothing is up."""
    return _apart(stack, stack, CHECKOUT, CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml")


def _apart(session: str, stack: str, folder: Path, *config: Path) -> Project:
    home = STATE / stack
    shutil.rmtree(home, ignore_errors=True)
    (home / "backend").mkdir(parents=True)
    # Without `stackConfigDir`, so that the stack's salt goes here too.
    name = yaml.safe_load((folder / "Pulumi.yaml").read_text())["name"]
    (home / "Pulumi.yaml").write_text(f"name: {name}\nruntime: python\n")
    for file in config:
        shutil.copy(file, home)
    own = Session(session)
    own.environment["PULUMI_BACKEND_URL"] = f"file://{home / 'backend'}"
    own.ask("stack", "init", stack, "--no-select", folder=home)
    return Project(own, folder, stack, home / f"Pulumi.{stack}.yaml")


def in_turn(rounds: int, *commands: Callable[[], float]) -> Sequence[float]:
    """Return the median seconds of each command; they take turns, so that a busy moment hits them all."""
    for command in commands:
        command()
    taken = [[command() for command in commands] for _ in range(rounds)]
    return [median(times) for times in zip(*taken, strict=True)]

"""`python -m tools.drive up|preview|down|outputs STACK`."""

import json
import sys
from collections.abc import Callable, Mapping

from lifecycle import pending
from stacks.errors import RackstackError, Refusal
from tools.drive import farewell
from tools.drive.session import Session


def up(session: Session) -> int:
    """Bring the stack up; no open operation of an earlier, killed run is left over."""
    session.free()
    session.create()
    if status := session.operate("up", "--yes", "--skip-preview", "--suppress-outputs"):
        return status
    pending.settle(session, session.export())
    print(farewell.text(session.name, session.outputs()))
    return 0


def preview(session: Session) -> int:
    """Show what `up` would change; it waits for nobody who works on the stack."""
    session.make_readable()
    session.create()
    return session.operate("preview")


def down(session: Session) -> int:
    """Take everything of the stack away, and then the stack itself; well where there is none."""
    session.free()
    if not session.exists():
        print(f"stack {session.name} does not exist: nothing to take away")
        return 0
    if status := session.operate("destroy", "--yes", "--skip-preview"):
        return status
    status = session.run("stack", "rm", session.name, "--yes", "--preserve-config")
    if not status:
        session.forget()
    return status


def outputs(session: Session) -> int:
    """Print the outputs as JSON, secrets in clear.

    Raises:
        Refusal: There is no such stack in the backend.
    """
    session.make_readable()
    if not session.exists():
        raise Refusal(f"stack {session.name} does not exist: `make up STACK={session.name}` brings it up")
    print(json.dumps(session.outputs("--show-secrets"), indent=2))
    return 0


_VERBS: Mapping[str, Callable[[Session], int]] = {
    "up": up,
    "preview": preview,
    "down": down,
    "outputs": outputs,
}


def main(verb: str, stack: str) -> int:
    """Do what is asked and return the exit status; our own refusals are one sentence on stderr."""
    try:
        return _VERBS[verb](Session(stack))
    except RackstackError as error:
        print(error, file=sys.stderr)
        return 1


sys.exit(main(*sys.argv[1:]))

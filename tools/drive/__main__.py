"""`python -m tools.drive up|preview|down|outputs STACK`."""

import json
import sys
from collections.abc import Callable, Mapping

from stacks.errors import RackstackError, Refusal
from tools.drive import farewell
from tools.drive.session import Session


def up(session: Session) -> int:
    """Bring the stack up; no pending create of an earlier, killed run is left over."""
    session.create()
    if status := session.operate("up", "--yes", "--skip-preview", "--suppress-outputs"):
        return status
    forget = ("--yes", "--skip-preview", "--clear-pending-creates")
    if _pending(session) and (status := session.operate("refresh", *forget)):
        return status
    outputs = session.outputs()
    told = {name: outputs[name] for name in ("model", "endpoint", "snippet")}
    print(farewell.text(session.stack, **told))
    return 0


def preview(session: Session) -> int:
    """Show what `up` would change."""
    session.create()
    return session.operate("preview")


def down(session: Session) -> int:
    """Take everything of the stack away, and then the stack itself; well where there is none."""
    if not session.exists():
        print(f"stack {session.stack} does not exist: nothing to take away")
        return 0
    if status := session.operate("destroy", "--yes", "--skip-preview"):
        return status
    status = session.run("stack", "rm", session.stack, "--yes", "--preserve-config")
    if not status:
        session.forget()
    return status


def outputs(session: Session) -> int:
    """Print the outputs as JSON, secrets in clear.

    Raises:
        Refusal: There is no such stack in the backend.
    """
    if not session.exists():
        raise Refusal(f"stack {session.stack} does not exist: `make up STACK={session.stack}` brings it up")
    print(json.dumps(session.outputs("--show-secrets"), indent=2))
    return 0


def _pending(session: Session) -> bool:
    """Return whether the state remembers creates of a killed run, which a finished `up` has adopted."""
    state = json.loads(session.ask("stack", "export", "--stack", session.stack))
    return bool(state["deployment"].get("pending_operations"))


_VERBS: Mapping[str, Callable[[Session], int]] = {
    "up": up,
    "preview": preview,
    "down": down,
    "outputs": outputs,
}


def main(verb: str, stack: str) -> int:
    """Do what is asked and return the exit status; our own refusals are one sentence on stderr."""
    try:
        session = Session(stack)
        session.recover()
        return _VERBS[verb](session)
    except RackstackError as error:
        print(error, file=sys.stderr)
        return 1


sys.exit(main(*sys.argv[1:]))

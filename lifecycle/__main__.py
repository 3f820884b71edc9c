"""`python -m lifecycle recover|bundle|sweep -s STACK`."""

import argparse
import sys
import threading
from collections.abc import Callable, Iterator, Mapping

from components.fleet_name import fleet_id
from lifecycle import collect, files, locks
from lifecycle import recover as recovery
from lifecycle import sweep as sweeping
from lifecycle.environment import CHECKOUT, environment
from lifecycle.stack import Stack
from stacks import config
from stacks.errors import RackstackError, Refusal
from stacks.faults import nearest


def recover(stack: Stack, wanted: argparse.Namespace) -> Iterator[str]:
    """Clear up after a killed run."""
    yield from recovery.recover(stack, owner_is_dead=wanted.owner_is_dead)


def bundle(stack: Stack, wanted: argparse.Namespace) -> Iterator[str]:
    """Collect all that can be seen of the fleet into one archive."""
    del wanted
    yield f"all that was seen is in {collect.bundle(stack)}"


def sweep(stack: Stack, wanted: argparse.Namespace) -> Iterator[str]:
    """Remove what exists under the fleet's name, where its state is lost."""
    file = CHECKOUT / "stacks" / f"Pulumi.{stack.name}.yaml"
    machines = config.parse_file(file, f"stacks/{file.name}").machines
    files.require_whole(stack)
    if stack.exists():
        locks.judged(stack, owner_is_dead=wanted.owner_is_dead)
    sweeping.require_lost(stack)
    run = sweeping.Told(threading.Event(), print)
    inventory = sweeping.inventory(fleet_id(stack.name, CHECKOUT), machines)
    yield from sweeping.sweep(inventory, run, sure=wanted.yes)


_INTERRUPTED = 130  # 128 + SIGINT, as shells count
_VERBS: Mapping[str, tuple[Callable[[Stack, argparse.Namespace], Iterator[str]], str]] = {
    "recover": (recover, "nothing to recover"),
    "bundle": (bundle, ""),
    "sweep": (sweep, "nothing exists under the fleet's name"),
}


def main() -> int:
    """Do what is asked and return the exit status; refusals are one sentence on stderr."""
    wanted = _arguments()
    act, nothing = _VERBS[wanted.verb]
    said = False
    try:
        stack = Stack(wanted.stack, environment())
        _require_known(stack)
        for line in act(stack, wanted):
            print(line, flush=True)
            said = True
    except RackstackError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(_broken(wanted, error), file=sys.stderr)
        return 1
    except EOFError:
        print(f"stack {wanted.stack}: the input ended before an answer: look, and add --yes", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"stack {wanted.stack}: {wanted.verb} was interrupted; it may be run again", file=sys.stderr)
        return _INTERRUPTED
    if not said:
        print(f"stack {wanted.stack}: {nothing}")
    return 0


def _broken(wanted: argparse.Namespace, error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return (
        f"stack {wanted.stack}: {wanted.verb} broke off: {where}{error.strerror or error}; mend that on this "
        "machine and run it again"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lifecycle", description=__doc__)
    parser.add_argument("verb", choices=list(_VERBS))
    parser.add_argument("-s", "--stack", required=True, help="name of the stack")
    parser.add_argument("--yes", action="store_true", help="sweep: do not ask")
    parser.add_argument(
        "--owner-is-dead", action="store_true", help="you have looked: the run that holds the lock has ended"
    )
    return parser.parse_args()


def _require_known(stack: Stack) -> None:
    """Refuse a name that neither a stack file nor the backend has."""
    written = (CHECKOUT / "stacks").glob("Pulumi.*.yaml")
    known = sorted(path.name.split(".", 1)[1][: -len(".yaml")] for path in written if path.is_file())
    if stack.name not in known and not stack.exists():
        raise Refusal(
            f"stack {stack.name}: there is no such stack file, and {stack.backend} has none either; "
            f"{nearest(stack.name, known)}"
        )


sys.exit(main())

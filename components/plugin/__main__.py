"""`pulumi-resource-rack`: started by the engine with its address, answers with a port on stdout."""

import os
import signal
import sys
import threading
from importlib.util import find_spec

NEEDED = ("grpc", "pulumi", "pydantic", "paramiko", "ansible_runner", "yaml")
OLDEST = (3, 11)


def main() -> None:
    """Serve until the engine says SIGINT, as it does at the end of every command, or until it is gone."""
    refuse_poor_python()
    from components.plugin import orphans, server  # noqa: PLC0415 -- refuses in a sentence before they fail

    stop, leave = threading.Event(), threading.Event()
    signal.signal(signal.SIGINT, lambda *_: leave.set())
    signal.signal(signal.SIGTERM, lambda *_: leave.set())
    engine = next(argument for argument in reversed(sys.argv[1:]) if not argument.startswith("-"))
    orphans.watch_parent(engine, stop)
    serving, port = server.start(engine, stop)
    print(port, flush=True)
    leave.wait()
    stop.set()
    serving.stop(orphans.GRACE).wait()
    os._exit(0)


def refuse_poor_python() -> None:
    """Exit with one sentence where this Python cannot run the plugin."""
    missing = [module for module in NEEDED if find_spec(module) is None]
    if sys.version_info < OLDEST:
        running = sys.version.split()[0]
        sys.exit(f"rack: {sys.executable} is Python {running}; put one of at least 3.11 first on PATH")
    if missing:
        sys.exit(
            f"rack: {sys.executable} lacks {', '.join(missing)}; run `pip install -r requirements.txt` "
            "for it, or put the folder of a Python that has them first on PATH"
        )


main()

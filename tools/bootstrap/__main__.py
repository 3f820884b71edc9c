"""Install what is missing: every step, or those that are named."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from stacks import config
from stacks.errors import ConfigError, RackstackError
from tools.bootstrap import checkpoint, engine, image, packages, wheels
from tools.bootstrap.work import CHECKOUT, tell

_STEPS: Mapping[str, Callable[[], object]] = {
    "packages": packages.ensure,
    "engine": engine.ensure,
    "image": image.ensure,
    "wheels": wheels.ensure,
    "model": checkpoint.ensure,
}


def main() -> int:
    """Run the steps and return the exit status; a failure is one sentence on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tools.bootstrap", description=__doc__)
    parser.add_argument("steps", nargs="*", choices=[[], *_STEPS], help="default: all, in this order")
    parser.add_argument("--print-path", action="store_true", help="print the folder of the Pulumi engine")
    parser.add_argument(
        "--if-possible", action="store_true", help="do nothing where no lab can run, unless CI=true"
    )
    parser.add_argument("--stack", help="what this stack needs: nothing of the lab unless it is one of it")
    wanted = parser.parse_args()
    if wanted.stack and not _of_the_lab(wanted.stack):
        return 0
    if wanted.if_possible and os.environ.get("CI") != "true" and (found := packages.obstacles()):
        tell("bootstrap", f"nothing prepared for the lab: {'; '.join(found)}")
        return 0
    try:
        if wanted.print_path:
            print(engine.ensure())
            return 0
        for name in wanted.steps or _STEPS:
            _STEPS[name]()
    except RackstackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _of_the_lab(stack: str) -> bool:
    file = CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml"
    try:
        fleet: Any = config.read(config.text_of(file, file.name), file.name)
        return bool(fleet["machines"]["provider"] == "lab")
    except (OSError, ConfigError, LookupError, TypeError):
        return False  # whatever is wrong with the file is told by those who need it


sys.exit(main())

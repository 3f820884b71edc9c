"""What the tests of the playbooks share: where they are, and their programs as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
ROLES = sorted(folder for folder in (PLAYBOOKS / "roles").iterdir() if folder.is_dir())


def program(path: str) -> ModuleType:
    """Return the program below `playbooks/` as a module; hosts run it alone, so it is in no package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, PLAYBOOKS / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # it would count as a file of the role
        spec.loader.exec_module(module)
    return module

"""`python -m tools.model MANIFEST`: pin what this package writes today, for `make lock`."""

import sys
import tempfile
from pathlib import Path

import yaml

from tools import model

with tempfile.TemporaryDirectory() as folder:
    manifest = {"revision": model.build(Path(folder)), "files": model.files(Path(folder))}
text = "# Written by `make lock` from tools/model.\n" + yaml.safe_dump(manifest, sort_keys=False)
Path(sys.argv[1]).write_text(text)

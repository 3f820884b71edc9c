"""Where the lab keeps what is made once and used by every fleet.

Standard library only: the bootstrap and the plugin both import it.

```
${RACKSTACK_CACHE:-${XDG_CACHE_HOME:-~/.cache}/rackstack}
├── engine/<digest>/                  Pulumi engine and its Python language host
├── images/<name>-<digest>/           root filesystem that lab hosts are laid over
├── wheels/<digest of the lock>/      wheel mirror of one engine pin
└── checkpoints/<name>/<revision>/    small models
```
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

_IMAGE_FORM = 1  # raised when the same recipe is to give another root filesystem


def root() -> Path:
    """Return the cache's folder; it need not exist."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("RACKSTACK_CACHE") or Path(home) / "rackstack").absolute()


def engine(digest: str) -> Path:
    """Return the folder of the Pulumi engine whose pins have this digest."""
    return root() / "engine" / digest[:12]


def image(name: str, suite: str, packages: Sequence[str]) -> Path:
    """Return the root filesystem of the image `name`; its recipe is part of the path."""
    recipe = json.dumps([_IMAGE_FORM, suite, list(packages)])
    return root() / "images" / f"{name}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def wheels(lock_digest: str) -> Path:
    """Return the wheel mirror of the lock with this SHA-256."""
    return root() / "wheels" / lock_digest[:12]


def checkpoints() -> Path:
    """Return the folder that holds `<name>/<revision>/` of every checkpoint."""
    return root() / "checkpoints"

"""The name of a fleet on shared ground. Apart from the fleet itself, which brings all of Pulumi's SDK."""

import hashlib
from pathlib import Path


def fleet_id(stack: str, root: Path) -> str:
    """Return the name of a fleet on shared ground: the stack's, told apart by the checkout it came from."""
    return f"{stack}-{hashlib.sha256(str(root).encode()).hexdigest()[:6]}"

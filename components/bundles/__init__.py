"""Debug bundles: all that could be seen of a fleet when something failed, without secrets, in one archive."""

from components.bundles.archive import KEPT, remember_plan, write

__all__ = ["KEPT", "remember_plan", "write"]

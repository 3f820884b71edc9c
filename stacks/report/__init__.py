"""A plan as a person reads it."""

from stacks.report.text import text

__all__ = ["text"]

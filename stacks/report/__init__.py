"""A plan as a person reads it."""

from stacks.report.document import json, summary
from stacks.report.markdown import markdown
from stacks.report.snippet import snippet
from stacks.report.svg import svg

__all__ = ["json", "markdown", "snippet", "summary", "svg"]

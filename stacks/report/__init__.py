"""A plan as a person reads it."""

from stacks.report.document import json
from stacks.report.markdown import markdown
from stacks.report.snippet import entrance, snippet
from stacks.report.svg import svg

__all__ = ["entrance", "json", "markdown", "snippet", "svg"]

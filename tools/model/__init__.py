"""Writes the lab's small model: Qwen3 in shape, a few hundred thousand made-up weights, no torch."""

from tools.model.checkpoint import build, files

__all__ = ["build", "files"]

"""Writes the lab's small model: Qwen3 in shape, a few hundred thousand made-up weights, no torch."""

from tools.model.checkpoint import Shape, build, files

__all__ = ["Shape", "build", "files"]

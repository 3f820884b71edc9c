"""Resolves pins: hashed locks of engines, revisions and files of checkpoints, digests of images.

Nothing is guessed and no pin is replaced: what the catalog says is `unpinned` is
looked up, checked against what else the catalog knows, and written in its place.
"""

"""Drives Pulumi for `make`: up, preview, down, outputs of one stack."""

"""Readiness: ready means it generated."""

"""Installs whatever `make up` and `make test` need and this machine lacks.

Every step looks first, builds beside its place and renames, so that nothing is
ever half-installed and any step can be run again at any moment.
"""

"""Tests of the playbooks that need no host."""

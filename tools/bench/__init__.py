"""Measures what Rackstack adds to Pulumi and Ansible: `make bench`."""

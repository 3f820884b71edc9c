"""Hosts: SSH, inventory, playbook runs and their supervisor, events and markers."""

"""The lab: whole systemd hosts in network namespaces of this machine."""

"""Machines that a person has or rents: claimed with a lease, and left as they were found."""

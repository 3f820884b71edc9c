"""Whether a disk may be formatted, from what `lsblk` says of it."""

from tests.unit.playbooks.files import program

storage = program("roles/storage/files/storage.py")

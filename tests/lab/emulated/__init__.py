"""Machines with GPUs as far as their documents describe them: stand-ins for tests on lab hosts.

Nothing of it is known to the product. A lab host is given the package `emulated-kernel`, which is the machine
itself (kernel modules, `/proc`, boot loader), and a package source with stand-ins for the vendor's packages,
which the product then installs as it would the real ones.
"""

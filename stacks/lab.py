"""What a plan and the machines of the lab agree on."""

from typing import Final

INTERFACE: Final = "eth0"
"""The interface of every lab host that reaches the other members."""

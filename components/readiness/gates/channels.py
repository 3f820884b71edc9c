"""Whether the ranks' user may use the IMEX channel. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from components.readiness.gates.refused import Check, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.readiness.gates.sight import Channels
    from components.readiness.gates.wants import Wants

_GUIDE: Final = "https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/imexchannels.html"

THERE: Final = Check(
    "channel-there",
    "/dev/nvidia-caps-imex-channels/channel0 with the major number of /proc/devices",
    (
        (
            "the host was rebooted and channels do not outlive that: run `up` again, the role imex makes "
            "them at every boot"
        ),
        "the driver was loaded again with another major number: remove the node, run `up` again",
        "this driver has no IMEX channels (not a multi-node NVLink system): correct fabric: or machines.type",
    ),
    _GUIDE,
)
USABLE: Final = Check(
    "channel-usable",
    "a channel that the ranks' user may read and write",
    (
        "the node was made with another mode or owner: remove it, run `up` again",
        (
            "a rule of udev's or a security module takes the right away again: `ls -l "
            "/dev/nvidia-caps-imex-channels`"
        ),
    ),
    f"{_GUIDE}; without it CUDA fails with 800 (cudaErrorNotPermitted)",
)

CHECKS: Final = (THERE, USABLE)


def refusals(seen: Mapping[str, Channels], wants: Wants) -> Iterator[Refused]:
    """Yield what is wrong with the channels.

    Args:
        seen: Host name → its first channel, of hosts in a domain that spans several.
        wants: What the plan wants.
    """
    for host, channels in seen.items():
        if channels.device is None or channels.device != (channels.major, 0):
            yield Refused(THERE, (host,), _shown(channels), _wanted(channels))
        elif channels.usable.code:
            yield Refused(
                USABLE, (host,), f"the user {wants.user} may not use channel0: {channels.usable.words}"
            )


def _shown(channels: Channels) -> str:
    if channels.major is None:
        return "/proc/devices has no nvidia-caps-imex-channels"
    if channels.device is None:
        return "there is no /dev/nvidia-caps-imex-channels/channel0"
    return "channel0 has the numbers {}, {}".format(*channels.device)


def _wanted(channels: Channels) -> str:
    return "" if channels.major is None else f"channel0 with the numbers {channels.major}, 0"

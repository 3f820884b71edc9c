"""What one host showed: the tools' own output, as `collect.py` printed it."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict

_FROZEN = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
_LONGEST: Final = 160
"""Characters of a tool's words in a sentence."""


class NotUnderstood(Exception):  # noqa: N818 -- says what happened; it never leaves the gates
    """A tool printed what nobody has documented; its text ends the sentence `TOOL ...`."""


class Said(BaseModel):
    """What a tool answered.

    Attributes:
        code: Exit status; 127 where the tool is not there, 124 where it did not end in time.
        out: Standard output.
        err: Standard error.
    """

    model_config = _FROZEN

    code: int
    out: str = ""
    err: str = ""

    @property
    def words(self) -> str:
        """Return the first line that says something, for a sentence."""
        lines = (line.strip() for line in f"{self.err}\n{self.out}".splitlines())
        return next((line for line in lines if line), "nothing")[:_LONGEST].rstrip(".")

    def text(self) -> str:
        """Return what it printed.

        Raises:
            NotUnderstood: It failed, or printed nothing.
        """
        if self.code == NOT_THERE:
            raise NotUnderstood("is not installed")
        if self.code:
            raise NotUnderstood(f"ended with exit status {self.code} and said {self.words!r}")
        if not self.out.strip():
            raise NotUnderstood("printed nothing")
        return self.out


NOT_THERE: Final = 127


class KernelLog(Said):
    """What the kernel logged since the boot: `out` has the first line of each Xid and SXid.

    Attributes:
        lines: How many lines the journal holds, whatever they say.
    """

    lines: int


class Port(BaseModel):
    """One port of an RDMA device, as the kernel's files say it (ABI/stable/sysfs-class-infiniband).

    Attributes:
        state: Logical state, `4: ACTIVE`.
        phys_state: Physical state, `5: LinkUp`.
        rate: Width by speed, `400 Gb/sec (4X NDR)`.
        link_layer: InfiniBand or Ethernet.
    """

    model_config = _FROZEN

    state: str
    phys_state: str
    rate: str
    link_layer: str


class Nic(BaseModel):
    """One RDMA device.

    Attributes:
        ports: Number → port.
        width: PCIe lanes that it runs on; empty where the kernel does not say.
        most: PCIe lanes that it could run on.
    """

    model_config = _FROZEN

    ports: dict[str, Port]
    width: str
    most: str


class Channels(BaseModel):
    """The first IMEX channel.

    Attributes:
        major: Number of `nvidia-caps-imex-channels` in /proc/devices; None where there is no such device.
        device: Major and minor number of /dev/nvidia-caps-imex-channels/channel0; None where it is absent.
        usable: Whether the ranks' user may read and write it: exit status 0, else its mode.
    """

    model_config = _FROZEN

    major: int | None
    device: tuple[int, int] | None
    usable: Said


class Process(BaseModel):
    """A process that holds memory of a GPU.

    Attributes:
        command: What it was started with.
        unit: The systemd unit that it belongs to; empty where none.
    """

    model_config = _FROZEN

    command: str
    unit: str


class Sight(BaseModel):
    """Everything that one host showed.

    Attributes:
        smi: `nvidia-smi -q -x`, without its lists of supported clocks.
        nvlink: `nvidia-smi nvlink -s`.
        topo: `nvidia-smi topo -m`.
        imex: `nvidia-imex-ctl -N -j`; None where no domain spans hosts.
        diag: `dcgmi diag -r 2 -j`; None where it was not run because ranks of this fleet hold the GPUs.
        kernel: This boot's kernel log.
        route: `ip -j route get PEER`.
        channels: The first IMEX channel; None where no domain spans hosts.
        nics: RDMA device → what the kernel's files say of it.
        processes: Process number → what holds memory of a GPU.
        shows: What is cheap to see, aspect (boot, driver, channel, ports) → its words.
        clock: Seconds since the epoch, by the host's own clock.
        asked: The operator's clock just before it was asked for that.
        answered: The operator's clock just after.
    """

    model_config = _FROZEN

    smi: Said
    nvlink: Said
    topo: Said
    imex: Said | None
    diag: Said | None
    kernel: KernelLog
    route: Said
    channels: Channels | None
    nics: dict[str, Nic]
    processes: dict[str, Process]
    shows: dict[str, str]
    clock: float
    asked: float
    answered: float

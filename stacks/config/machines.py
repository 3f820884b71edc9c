"""The machines of a fleet: hosts of the embedded lab, or machines that a person lists."""

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from stacks.config.addresses import Address, Server, Url
from stacks.config.host_keys import EXAMPLE, HostKey
from stacks.config.storage import Serial, Storage
from stacks.values import Value

MOST: Final = 1024
"""More machines, or GPUs of a layout, than anybody means."""

Count = Annotated[int, Field(ge=1, le=MOST)]
"""Of machines, cores or ranks: past any fleet, so that a slip of the keyboard is refused here."""
Gibibytes = Annotated[int, Field(ge=1, le=2**16)]

_PLANNED_NAME: Final = ("tray-", "node-", "host-")
_TAKEN: Final = ("all", "ungrouped", "localhost", "fleet")
"""Groups and the one host that Ansible has by itself, and the group of components/hosts/inventory.py."""
_RELEASE: Final = re.compile(r"[0-9]+(\.[0-9]+)*")
_PADDED: Final = re.compile(r"0|.*\.0[0-9]{2}")
"""What no release of a driver has: a zero before its branch, or before two digits or more."""


def _name(text: str) -> str:
    if text in _TAKEN:
        raise ValueError(
            f"means something else to Ansible, as {', '.join(_TAKEN)} do; write another name, or leave it out"
        )
    if text.startswith(_PLANNED_NAME) and text.rpartition("-")[2].isdecimal():
        raise ValueError(
            "is a name that machines get by their place in the list; leave it out, or write another"
        )
    return text


def _key_file(text: str) -> str:
    if not text.startswith(("/", "~/")):
        raise ValueError("is no path from / or ~/ on; write the whole path of the private key")
    if text.endswith("/"):
        raise ValueError("ends in /, as a folder does; write the path of the private key itself")
    if text.endswith(".pub"):
        raise ValueError("is the public half by its name; write the path of the private one beside it")
    return text


def _driver(text: str) -> str:
    if not _RELEASE.fullmatch(text):
        raise ValueError(
            "is no release of a driver, which is numbers and dots; write it as NVIDIA numbers it, without "
            "what a package puts before or behind it"
        )
    if _PADDED.match(text):
        raise ValueError(
            "has a zero that no release has, where a number behind a dot is filled up to two digits and no "
            "further; write it as NVIDIA numbers it"
        )
    return text


HostName = Annotated[
    str,
    Field(pattern=r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$"),
    AfterValidator(_name),
]
Port = Annotated[int, Field(ge=1, le=65535)]
User = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")]
_USER: Final = "a name of at most 32 lower-case letters, digits, _ and -, a letter or _ first"
Driver = Annotated[
    str, AfterValidator(_driver), Field(json_schema_extra={"pattern": rf"^{_RELEASE.pattern}$"})
]
KeyFile = Annotated[
    str,
    AfterValidator(_key_file),
    Field(
        json_schema_extra={"pattern": r"^~?/(.*[^/])?$"},
        description="path of a private SSH key on the machine that runs `up`, absolute or below ~/",
    ),
]
Kept = Literal["checkpoint", "drivers"]


class LabMachines(Value):
    """Hosts of the embedded lab, on this machine."""

    provider: Literal["lab"] = Field(description="who provides the machines", examples=["lab"])
    count: Count = Field(description="number of hosts", examples=[2])
    cpus: Count = Field(description="processor cores of each host", examples=[1])
    memory_gib: Gibibytes = Field(description="memory of each host in GiB", examples=[4])
    image: str = Field(
        description="image of the hosts, a file in stacks/catalog/images", examples=["bookworm-2"]
    )


Nic = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]{0,31}$",
        description="an RDMA device by its name in /sys/class/infiniband: lower-case letters, digits and _",
    ),
]
Nics = Annotated[tuple[Nic, ...], Field(strict=False, max_length=64)]


class Place(Value):
    """Where a machine stands, as whoever installed it says."""

    rack: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")] | None = Field(
        default=None,
        description="the rack, by its name of at most 40 letters, digits and . _ -",
        examples=["r7"],
    )
    tray: Annotated[int, Field(ge=0, le=MOST)] | None = Field(
        default=None, description="its place in the rack", examples=[3]
    )
    clique: Annotated[int, Field(ge=1, lt=2**32)] | None = Field(
        default=None,
        description="the NVLink clique of its GPUs, CliqueId of `nvidia-smi -q`",
        examples=[32766],
    )

    @property
    def words(self) -> str:
        """Return what is said of it."""
        said = {"rack": self.rack, "tray": self.tray, "clique": self.clique}
        return ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)


class ListedHost(Value):
    """One machine that a person has or rents."""

    name: HostName | None = Field(
        default=None,
        description="its name in the fleet, at most 40 lower-case letters, digits and inner hyphens; without "
        "it tray-0, node-0 and so on, by its place in the list",
        examples=["rack7-tray3"],
    )
    address: Address = Field(
        description="its IPv4 address, by which the other machines reach it too", examples=["10.20.0.11"]
    )
    port: Port = Field(default=22, description="TCP port of its SSH server", examples=[22])
    user: User = Field(
        default="root",
        description=f"who logs in there, {_USER}: root, or somebody with sudo that asks for no password",
        examples=["ubuntu"],
    )
    host_key: HostKey = Field(description="its public SSH host key, type and key", examples=[EXAMPLE])
    take_over: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="a fleet that is gone for good, whose lease on this machine `up` takes over, by its name "
        "as the refusal shows it: letters, digits and . _ -",
        examples=["kimi-k3-gb300-3fa2c1"],
    )
    place: Place | None = Field(
        default=None, description="where it stands; trays of one NVLink domain share rack and clique"
    )
    nics: Nics = Field(
        default=(),
        description="RDMA devices that the engine uses, by their names in /sys/class/infiniband; all of them "
        "must be well",
        examples=[["mlx5_0", "mlx5_1"]],
    )
    disk: Serial | None = Field(
        default=None,
        description="serial number of its own empty disk, where machines.storage.disk is another",
        examples=["S0EXAMPLE0001"],
    )


class JumpHost(Value):
    """The machine that SSH to all machines of the fleet goes through."""

    address: Server = Field(
        description="its IPv4 address or name, as the machine that runs `up` reaches it",
        examples=["198.51.100.7"],
    )
    port: Port = Field(default=22, description="TCP port of its SSH server", examples=[22])
    user: User = Field(description=f"who logs in there, {_USER}", examples=["ubuntu"])
    host_key: HostKey = Field(description="its public SSH host key, type and key", examples=[EXAMPLE])
    identity: KeyFile = Field(
        description="path of the private SSH key that opens it", examples=["~/.ssh/jump_ed25519"]
    )


class BareMetalMachines(Value):
    """Machines that a person has or rents, all of one type."""

    provider: Literal["baremetal"] = Field(description="who provides the machines", examples=["baremetal"])
    type: str = Field(description="machine type, a file in stacks/catalog/machines", examples=["gb300-nvl4"])
    count: Count | None = Field(
        default=None,
        description="number of machines; without it as many as the layout needs",
        examples=[2],
    )
    hosts: Annotated[tuple[ListedHost, ...], Field(strict=False, max_length=MOST)] = Field(
        default=(),
        description="the machines, in rank order; trays of one NVLink domain one after another",
    )
    identity: KeyFile | None = Field(
        default=None,
        description="path of the private SSH key that opens the machines, on the machine that runs `up`",
        examples=["~/.ssh/fleet_ed25519"],
    )
    jump: JumpHost | None = Field(default=None, description="the machine that SSH goes through")
    mirror: Url | None = Field(
        default=None,
        description="base URL that serves wheels/ and checkpoints/ to the machines",
        examples=["http://10.20.0.2"],
    )
    keep: Annotated[tuple[Kept, ...], Field(strict=False)] = Field(
        default=("checkpoint", "drivers"),
        description="what `destroy` leaves on the machines",
        examples=[["checkpoint"]],
    )
    storage: Storage | None = Field(default=None, description="where the checkpoints lie")
    driver: Driver | None = Field(
        default=None,
        description="GPU driver that the machines get, an exact release in quotes",
        examples=["580.95.05"],
    )

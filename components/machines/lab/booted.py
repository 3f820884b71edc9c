"""What the resource kinds of lab machines share: ensure one, look at it, mend it, remove it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from components.hosts.record import HostRecord
from components.machines.lab import able, cgroups, disk, links, machine, names, root
from components.machines.lab.commands import sentences
from components.machines.lab.machine import Machine
from components.machines.provider import fleet_faults
from components.plugin.kind import Drift, Inputs, Kind, Outputs, Run, Seen, new_incarnation
from stacks.errors import EffectError, Incomplete, Refusal
from stacks.lab import INTERFACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SSH: int = 22
LEAST_MIB = 128
"""MiB; below it systemd and sshd do not come up."""


class MachineInputs(Inputs):
    """A machine of a fleet.

    Attributes:
        fleet: Name of the fleet.
        name: Name of the host in it.
        network: Incarnation of the fleet's network.
        subnet: The network's /24.
        bridge: The network's bridge.
        image: Folder of the root filesystem below the disk.
        index: Number in the fleet, from 1; it decides the address.
        cpus: Processor cores, parts allowed.
        memory_mib: Memory in MiB.
    """

    fleet: str
    name: str
    network: str
    subnet: str
    bridge: str
    image: str
    index: int
    cpus: float
    memory_mib: int


class MachineOutputs(Outputs):
    """A machine that answers SSH."""

    record: HostRecord


I = TypeVar("I", bound=MachineInputs)  # noqa: E741 -- inputs
O = TypeVar("O", bound=MachineOutputs)  # noqa: E741 -- outputs

LIMITS = frozenset({"cpus", "memory_mib"})
"""Inputs that change on a running machine."""


class Booted(Kind[I, O]):
    """A lab machine; its kinds differ in what they add to the disk and in which ports must answer."""

    stable: ClassVar[frozenset[str]] = frozenset({"record"})
    ports: ClassVar[tuple[int, ...]] = (SSH,)

    def folders(self, inputs: I) -> Mapping[str, str]:
        """Return the operator's folders that the host sees read-only, by the path there."""
        del inputs
        return {}

    def dress(self, folder: Path, image: Path) -> None:
        """Add what this kind needs to a new disk."""

    def identity(self, inputs: I) -> str:
        """Return the machine's name on this machine."""
        return names.machine(inputs.fleet, inputs.name)

    def faults(self, inputs: I) -> Sequence[str]:
        """Return names, limits and paths that cannot be."""
        return [
            *fleet_faults(inputs.fleet),
            *names.host_faults(inputs.name, inputs.index),
            *_limit_faults(inputs),
            *_path_faults({"image": inputs.image, **self.folders(inputs)}),
        ]

    def create(self, inputs: I, run: Run) -> O:
        """Ensure the machine: adopt a running one made for these inputs, else make it anew."""
        this = self._machine(inputs)
        self._refuse_where_it_cannot_work(inputs)
        with sentences(inputs.name), root.held(this.folder, run.stop):
            marker = self._standing(this, inputs)
            try:
                marker = marker or self._make(this, inputs)
                _mend(this, run)
            except (EffectError, OSError):
                machine.remove(this)
                raise
            return self._outputs(inputs, marker)

    def read(self, inputs: I, outputs: O, run: Run) -> Seen[O] | None:
        """Look whether the machine is there, runs and answers."""
        del run
        this = self._machine(inputs)
        if root.incarnation(this.folder) != outputs.incarnation:
            return None
        return Seen(outputs, _drift(this))

    def update(self, old: I, new: I, outputs: O, run: Run) -> O:
        """Set new limits, and start the machine from its own disk if it is down."""
        del old
        this = self._machine(new)
        try:
            with sentences(new.name), root.held(this.folder, run.stop):
                if root.incarnation(this.folder) != outputs.incarnation:
                    raise Refusal(f"{new.name}: this machine is gone; `pulumi up --refresh` makes it again")
                _mend(this, run)
        except EffectError as error:
            raise Incomplete([str(error)], outputs) from None
        return outputs

    def delete(self, inputs: I, outputs: O, run: Run) -> None:
        """Remove the machine, if it still is this one, with everything of it."""
        this = self._machine(inputs)
        if root.incarnation(this.folder) != outputs.incarnation:
            return
        run.progress("removing the machine")
        with sentences(inputs.name), root.held(this.folder):
            if root.incarnation(this.folder) == outputs.incarnation:
                machine.remove(this)

    def made(self, inputs: I, incarnation: str, record: HostRecord) -> O:
        """Return the outputs of a machine."""
        del inputs
        return self.outputs(incarnation=incarnation, record=record)

    def _refuse_where_it_cannot_work(self, inputs: I) -> None:
        if missing := able.missing():
            raise Refusal("; ".join(missing))
        if not root.client_key(inputs.fleet).exists():
            raise Refusal(
                f"{inputs.name}: fleet {inputs.fleet} has no network; `pulumi up --refresh` makes it"
            )
        for folder in (inputs.image, *self.folders(inputs).values()):
            if not Path(folder).is_dir():
                raise Refusal(
                    f"{inputs.name}: the folder {folder} is missing; `make up` makes what the lab needs"
                )

    def _machine(self, inputs: I) -> Machine:
        return Machine(
            fleet=inputs.fleet,
            name=inputs.name,
            index=inputs.index,
            subnet=inputs.subnet,
            bridge=inputs.bridge,
            image=Path(inputs.image),
            cpus=inputs.cpus,
            memory_mib=inputs.memory_mib,
            folders=self.folders(inputs),
            ports=self.ports,
        )

    def _standing(self, this: Machine, inputs: I) -> dict[str, Any] | None:
        """Return the marker of a running machine that was made for these inputs."""
        marker = root.read_marker(this.folder)
        same = marker is not None and marker["made_for"] == _made_for(inputs)
        return marker if same and machine.is_running(this) else None

    def _make(self, this: Machine, inputs: I) -> dict[str, Any]:
        """Make the machine's disk, after anything half-made under its name is gone."""
        machine.remove(this)
        disk.lay(this.folder, this.image)
        key = disk.personalise(this.folder, this.image, this.name, this.address, this.fleet)
        self.dress(this.folder, this.image)
        marker = {"incarnation": new_incarnation(), "host_key": key, "made_for": _made_for(inputs)}
        root.write_marker(this.folder, marker)
        return marker

    def _outputs(self, inputs: I, marker: Mapping[str, Any]) -> O:
        record = HostRecord(
            name=inputs.name,
            address=names.address(inputs.subnet, inputs.index),
            port=SSH,
            user="root",
            identity_file=str(root.client_key(inputs.fleet)),
            host_key=marker["host_key"],
            incarnation=marker["incarnation"],
            interface=INTERFACE,
        )
        return self.made(inputs, marker["incarnation"], record)


def _mend(this: Machine, run: Run) -> None:
    """Bring a machine up that may be down, cut off, deaf, or well."""
    if machine.is_running(this) and links.exists(this.link) and not machine.stale_folders(this):
        links.attach(this.link, this.bridge)
        machine.limit(this, run)
        if _answers(this, run):
            return
    machine.end(this.title, this.link)
    machine.start(this, run)


def _answers(this: Machine, run: Run) -> bool:
    try:
        machine.wait(this, run, machine.ANSWERING)
    except Refusal:
        if run.stop.is_set():
            raise
        return False
    return True


def _drift(this: Machine) -> Drift:
    running = machine.is_running(this)
    found = cgroups.differing(this.title, this.cpus, this.memory_mib) if running else {}
    if not this.image.is_dir():
        sentence = f"its image {this.image} is missing"
    elif not running:
        sentence = "it is not running"
    elif stale := machine.stale_folders(this):
        sentence = f"it sees an old {stale[0]}, which was removed or made again since"
    elif not links.is_attached(this.link, this.bridge):
        sentence = f"its link {this.link} is not on the bridge {this.bridge}"
    elif silent := machine.silent_ports(this):
        sentence = f"port {silent[0]} of {this.address} does not answer"
    else:
        return {this.name: found} if found else {}
    return {this.name: {"machine": sentence, **found}}


def _made_for(inputs: MachineInputs) -> dict[str, Any]:
    return inputs.model_dump(mode="json", exclude=set(LIMITS))


def _limit_faults(inputs: MachineInputs) -> Iterator[str]:
    if inputs.cpus <= 0:
        yield f"cpus {inputs.cpus}: it must be more than 0; give the host a core"
    if inputs.memory_mib < LEAST_MIB:
        yield f"memory_mib {inputs.memory_mib}: a host needs at least {LEAST_MIB} MiB; give it more"


def _path_faults(paths: Mapping[str, str]) -> Iterator[str]:
    for what, path in paths.items():
        if not Path(path).is_absolute() or set(path) & set(disk.SEPARATORS):
            yield (
                f"{what} {path!r}: it must be an absolute path without any of {disk.SEPARATORS}; set "
                "RACKSTACK_CACHE to such a folder"
            )

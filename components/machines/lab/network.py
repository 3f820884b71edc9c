"""`rack:lab:Network`: the private network of a lab fleet, and the key that opens its hosts."""

from __future__ import annotations

import json
from ipaddress import IPv4Interface
from typing import TYPE_CHECKING, Any

from components.machines.lab import able, disk, keys, links, names, root, subnets
from components.machines.lab.commands import sentences
from components.machines.provider import fleet_faults
from components.plugin.kind import Inputs, Kind, Outputs, Run, Seen, new_incarnation
from stacks.errors import EffectError, Incomplete, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence


class NetworkInputs(Inputs):
    """A fleet's network.

    Attributes:
        fleet: Name of the fleet.
    """

    fleet: str


class NetworkOutputs(Outputs):
    """What the hosts of the fleet need.

    Attributes:
        subnet: A private /24 of this machine.
        gateway: This machine's address in it.
        bridge: Interface of this machine that ties the hosts together.
        user: Who logs in on the hosts.
        identity_file: Path of the private key that opens them, mode 0600.
    """

    subnet: str
    gateway: str
    bridge: str
    user: str
    identity_file: str


class Network(Kind[NetworkInputs, NetworkOutputs]):
    """A bridge with a /24 of its own: no way out of this machine, no translation, no forwarding."""

    token = "rack:lab:Network"  # noqa: S105 -- a type token
    inputs = NetworkInputs
    outputs = NetworkOutputs
    replace_on = frozenset({"fleet"})
    stable = frozenset(NetworkOutputs.model_fields)

    def identity(self, inputs: NetworkInputs) -> str:
        """Return the bridge's name."""
        return names.bridge(inputs.fleet)

    def faults(self, inputs: NetworkInputs) -> Sequence[str]:
        """Return what is wrong with the fleet's name."""
        return list(fleet_faults(inputs.fleet))

    def foresee(self, inputs: NetworkInputs) -> dict[str, Any]:
        """Return all but the subnet, which is chosen when the network is made."""
        return {"bridge": names.bridge(inputs.fleet), **_access(inputs.fleet)}

    def create(self, inputs: NetworkInputs, run: Run) -> NetworkOutputs:
        """Ensure the network: adopt one that has its key, else make it anew."""
        if missing := able.missing():
            raise Refusal("; ".join(missing))
        folder = root.network_folder(inputs.fleet)
        with sentences("network"), root.held(folder, run.stop):
            try:
                return _ensure(inputs.fleet)
            except (EffectError, OSError):
                _remove(inputs.fleet)
                raise

    def read(self, inputs: NetworkInputs, outputs: NetworkOutputs, run: Run) -> Seen[NetworkOutputs] | None:
        """Look whether the bridge has its address; without its key the network is gone."""
        del run
        marker = _standing(inputs.fleet)
        if marker is None or marker["incarnation"] != outputs.incarnation:
            return None
        if links.has_address(outputs.bridge, outputs.gateway):
            return Seen(outputs)
        sentence = f"the bridge {outputs.bridge} with address {outputs.gateway} is missing"
        return Seen(outputs, {"network": {"bridge": sentence}})

    def update(
        self, old: NetworkInputs, new: NetworkInputs, outputs: NetworkOutputs, run: Run
    ) -> NetworkOutputs:
        """Make the bridge again, with the subnet that the hosts know."""
        del old, run
        try:
            _make_bridge(outputs, new.fleet)
        except EffectError as error:
            raise Incomplete([str(error)], outputs) from None
        return outputs

    def delete(self, inputs: NetworkInputs, outputs: NetworkOutputs, run: Run) -> None:
        """Remove bridge and key, if the network still is this one."""
        del run
        folder = root.network_folder(inputs.fleet)
        if root.incarnation(folder) != outputs.incarnation:
            return
        with sentences("network"), root.held(folder):
            if root.incarnation(folder) == outputs.incarnation:
                _remove(inputs.fleet)


def _standing(fleet: str) -> dict[str, Any] | None:
    return root.read_marker(root.network_folder(fleet)) if root.client_key(fleet).exists() else None


def _ensure(fleet: str) -> NetworkOutputs:
    with root.machine_wide():
        outputs = _outputs(fleet, _standing(fleet) or _make(fleet))
        _make_bridge(outputs, fleet)
        return outputs


def _make(fleet: str) -> dict[str, Any]:
    """Choose a subnet, make the key and write the marker; nobody else may choose meanwhile."""
    marker = {"incarnation": new_incarnation(), "subnet": subnets.free(fleet, _taken())}
    keys.make_pair(root.client_key(fleet), fleet)
    root.write_marker(root.network_folder(fleet), marker)
    return marker


def _taken() -> list[str]:
    markers = [json.loads(each.read_text()) for each in root.LAB.glob(f"*/network/{root.MARKER}")]
    return [*links.routed(), *(marker["subnet"] for marker in markers)]


def _make_bridge(outputs: NetworkOutputs, fleet: str) -> None:
    gateway = IPv4Interface(f"{outputs.gateway}/24")
    links.make_bridge(outputs.bridge, gateway, names.hardware_address(fleet, 0))


def _remove(fleet: str) -> None:
    links.remove(names.bridge(fleet))
    disk.wipe(root.network_folder(fleet))


def _access(fleet: str) -> dict[str, Any]:
    return {"user": "root", "identity_file": str(root.client_key(fleet))}


def _outputs(fleet: str, marker: dict[str, Any]) -> NetworkOutputs:
    subnet = marker["subnet"]
    return NetworkOutputs(
        incarnation=marker["incarnation"],
        subnet=subnet,
        gateway=names.gateway(subnet),
        bridge=names.bridge(fleet),
        **_access(fleet),
    )

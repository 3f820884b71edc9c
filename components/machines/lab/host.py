"""`rack:lab:Host`: a host of a lab fleet."""

from __future__ import annotations

from components.machines.lab.booted import LIMITS, Booted, MachineInputs, MachineOutputs


class Host(Booted[MachineInputs, MachineOutputs]):
    """A plain host, bare but for what its image holds."""

    token = "rack:lab:Host"  # noqa: S105 -- a type token
    inputs = MachineInputs
    outputs = MachineOutputs
    replace_on = frozenset(MachineInputs.model_fields) - LIMITS

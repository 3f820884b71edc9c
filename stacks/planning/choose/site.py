"""Where the model is to run: machine type, accelerator, fabric."""

from stacks.catalog import Catalog
from stacks.catalog.hardware import Accelerator, Fabric, Family, Machine
from stacks.catalog.models import ModelFacts, Profile
from stacks.config import FleetConfig, LabMachines
from stacks.planning.names import LAB_HOST
from stacks.planning.versions import within
from stacks.values import Value


class Site(Value):
    """Machines and what joins them.

    Attributes:
        memory: Memory of one accelerator in bytes; of one host in the lab.
    """

    machine: Machine
    family_name: str
    family: Family
    accelerator: Accelerator
    fabric_name: str
    fabric: Fabric
    memory: int


def site(config: FleetConfig, catalog: Catalog) -> Site:
    """Return where a fleet is to run."""
    machines = config.machines
    name = LAB_HOST if isinstance(machines, LabMachines) else machines.type
    machine = catalog.machines[name]
    family = catalog.family(machine.accelerator)
    accelerator = catalog.families[family].members[machine.accelerator]
    memory = machines.memory_gib * 2**30 if isinstance(machines, LabMachines) else accelerator.memory_bytes
    return Site(
        machine=machine,
        family_name=family,
        family=catalog.families[family],
        accelerator=accelerator,
        fabric_name=config.fabric,
        fabric=catalog.fabrics[config.fabric],
        memory=memory,
    )


def profile(model: ModelFacts, family: str, release: str) -> Profile | None:
    """Return the model's options on a family for an engine release; None where the catalog has none."""
    fitting = (
        each for each in model.profiles if each.family == family and within(release, each.since, each.before)
    )
    return next(fitting, None)

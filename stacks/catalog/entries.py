"""The catalog as one value."""

from collections.abc import Mapping

from stacks.catalog.engines import Engine
from stacks.catalog.hardware import Accelerator, Fabric, Family, Machine
from stacks.catalog.models import Model
from stacks.values import Value


class Image(Value):
    """Root file system of lab hosts: a distribution's suite and the packages in it."""

    suite: str
    packages: tuple[str, ...]


class Catalog(Value):
    """All that is known, by name."""

    models: Mapping[str, Model]
    families: Mapping[str, Family]
    machines: Mapping[str, Machine]
    fabrics: Mapping[str, Fabric]
    engines: Mapping[str, Engine]
    images: Mapping[str, Image]

    def family(self, accelerator: str) -> str:
        """Return the name of the family of an accelerator.

        Raises:
            KeyError: The catalog has no such accelerator.
        """
        for name, family in self.families.items():
            if accelerator in family.members:
                return name
        raise KeyError(accelerator)

    def accelerator(self, name: str) -> Accelerator:
        """Return an accelerator.

        Raises:
            KeyError: The catalog has no such accelerator.
        """
        return self.families[self.family(name)].members[name]

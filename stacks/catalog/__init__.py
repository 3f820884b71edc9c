"""What is known: models, hardware, engine pins and images, as YAML beside a typed loader."""

from stacks.catalog.engines import Engine, EngineFacts, Lock
from stacks.catalog.entries import Catalog, Image
from stacks.catalog.figures import Unpinned
from stacks.catalog.hardware import Accelerator, Fabric, Family, Machine
from stacks.catalog.loader import load
from stacks.catalog.models import Checkpoint, Manifest, Model, ModelFacts

__all__ = [
    "Accelerator",
    "Catalog",
    "Checkpoint",
    "Engine",
    "EngineFacts",
    "Fabric",
    "Family",
    "Image",
    "Lock",
    "Machine",
    "Manifest",
    "Model",
    "ModelFacts",
    "Unpinned",
    "load",
]

"""What is known: models, engine pins and images, as YAML beside a typed loader."""

from stacks.catalog.entries import Catalog, Engine, Image, Manifest, Model
from stacks.catalog.loader import load

__all__ = ["Catalog", "Engine", "Image", "Manifest", "Model", "load"]

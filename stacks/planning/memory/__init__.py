"""How much memory one GPU needs, and how many requests that leaves room for; docs/memory.md tells how."""

from stacks.planning.design import Design, GroupDesign
from stacks.planning.memory import gpu, host
from stacks.planning.memory.host import kv_cache_gib
from stacks.planning.memory.reserves import mib
from stacks.planning.sized import Cache, GpuMemory

__all__ = ["kv_cache_gib", "mib", "size"]


def size(design: Design, group: GroupDesign) -> tuple[GpuMemory, Cache]:
    """Return what one GPU of an engine holds (one host where it runs on CPU), and its cache. Pure."""
    if design.family.vendor == "cpu":
        return host.size(design, group)
    return gpu.size(design, group)

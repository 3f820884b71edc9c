"""What machines get below the engine, as text."""

from collections.abc import Iterator

from stacks.planning import FleetPlan
from stacks.planning.hosts import HostStack
from stacks.report.words import item


def items(plan: FleetPlan) -> Iterator[str]:
    """Yield the roles with their packages, and what the vendor's settings are; nothing without any."""
    stack = plan.host_stack
    if stack is None:
        return
    yield ""
    driver = (
        f"driver {stack.driver}, exactly" if stack.driver else "the driver of machines.driver, not said yet"
    )
    floor = stack.driver_floor or "unknown"
    yield from item(f"`prepare` installs {driver}; the oldest that engine and GPUs run with: {floor}")
    for role in stack.roles:
        yield from item(": ".join(filter(None, (role, "; ".join(_brings(role, stack))))), depth=1)
    yield from item(f"before a rank starts, the gates of {plan.fabric.title}: docs/gates")


def _brings(role: str, stack: HostStack) -> Iterator[str]:
    for package, release in stack.packages.get(role, {}).items():
        yield f"{package} {release or 'as the sources have it, then held'}"
    if role == "tuning":
        yield from (f"{key} = {value}" for key, value in stack.settings.items())
        yield from (f"kernel argument {each}" for each in stack.kernel_arguments)

"""What the machines cost; what nobody has given a price for stays unknown."""

from stacks.planning.design import Design
from stacks.planning.plan import Cost, LoadTime

_HOUR = 3600


def cost(design: Design, load: LoadTime) -> Cost:
    """Return the cost of an hour, and of loading the model and evaluating it once."""
    price, run, gpus = design.config.price, design.config.run, design.count * design.machine.gpus
    if price is None:
        return Cost(
            gpus=gpus, currency=None, per_hour=None, per_evaluation=None, source="no price is given (price)"
        )
    hour = price.per_gpu_hour * gpus
    seconds = run.evaluation + load.high if run.evaluation and load.high else None
    return Cost(
        gpus=gpus,
        currency=price.currency,
        per_hour=round(hour, 2),
        per_evaluation=round(hour * seconds / _HOUR, 2) if seconds else None,
        source=f"{price.source}, {price.date}",
    )

"""What the machines cost; what nobody has given a price for stays unknown."""

from collections.abc import Iterator

from stacks.planning.design import Design
from stacks.planning.spent import Cost, LoadTime

_HOUR = 3600
_STARTING = "starting up after reading is not counted: nobody says how long it takes"


def cost(design: Design, load: LoadTime) -> Cost:
    """Return the cost of an hour, and of loading the model and evaluating it once."""
    price, run, gpus = design.config.price, design.config.run, design.count * design.machine.gpus
    per_hour = price.per_gpu_hour * gpus if price else None
    seconds = run.evaluation + load.high if run.evaluation and load.high else None
    known = per_hour is not None and seconds is not None
    return Cost(
        gpus=gpus,
        currency=price.currency if price else None,
        per_hour=None if per_hour is None else round(per_hour, 2),
        per_evaluation=round(per_hour * seconds / _HOUR, 2) if per_hour and seconds else None,
        per_reservation=round(per_hour * run.reserved / _HOUR, 2) if per_hour and run.reserved else None,
        source=f"{price.source}, {price.date}" if price else "no price is given (price)",
        assumes=_STARTING if known else "; ".join(_unknown(design, load)),
    )


def _unknown(design: Design, load: LoadTime) -> Iterator[str]:
    """Yield why nobody knows what an evaluation costs."""
    if design.config.price is None:
        yield "no price is given (price)"
    if design.config.run.evaluation is None:
        yield "how long an evaluation takes is not given (run.evaluation)"
    if load.high is None:
        yield load.assumes

"""What a fleet takes: time and money."""

from stacks.values import Value


class LoadTime(Value):
    """How long the weights take to read.

    Attributes:
        low: Seconds at least; None where the storage's speed is unknown.
        high: Seconds at most; None likewise.
        assumes: What the figures assume, one sentence.
    """

    low: float | None
    high: float | None
    assumes: str


class Cost(Value):
    """What the machines cost; None where no price or duration is given.

    Attributes:
        gpus: GPUs that are paid for.
        currency: Of all figures.
        per_hour: Of the whole fleet.
        per_evaluation: Loading and the evaluation together, at the longer of the load times.
        per_reservation: All the time that the machines are reserved.
        source: Who says so, and when.
        assumes: What per_evaluation leaves out, or why it is unknown, one clause.
    """

    gpus: int
    currency: str | None
    per_hour: float | None
    per_evaluation: float | None
    per_reservation: float | None
    source: str
    assumes: str


class Budget(Value):
    """Deadlines in seconds, each derived from bytes and the slowest healthy speed plus a named allowance.

    Bytes that are unknown count nothing: of a checkpoint or a draft whose size nobody gives, the allowance
    alone is waited for.

    Attributes:
        prepare: The playbook of that name; access, engine, checkpoint and serve likewise.
        ready: From the start of the ranks to the first completion, where they read no faster than `read`.
        start: What of it is not reading.
        read: The slowest that a host may read its checkpoint, in bytes per second.
    """

    prepare: float
    access: float
    engine: float
    checkpoint: float
    serve: float
    ready: float
    start: float
    read: float

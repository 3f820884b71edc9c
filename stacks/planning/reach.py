"""What a plan says of who reaches the fleet, and how."""

from typing import Literal

from stacks.values import Value


class PlannedKey(Value):
    """One API key.

    Attributes:
        name: What the gateway's log calls it.
        secret: Name of the Pulumi secret that holds it; None where it is generated.
        serial: A generated key is made anew where this changes.
    """

    name: str
    secret: str | None
    serial: int


class Route(Value):
    """What the gateway lets through.

    Attributes:
        method: HTTP method.
        path: The whole path, without a query.
    """

    method: Literal["GET", "POST"]
    path: str


class Limits(Value):
    """What the gateway bounds. Nothing bounds how long an answer may be streamed.

    Attributes:
        body_mib: Size of a request in MiB.
        idle: Seconds for which the engine may be silent, while it reads a long prompt or writes an answer
            that is not streamed, or compiles for the first one: what the model's documentation gives clients,
            and no less than what the engine is given to become ready.
        total: Seconds after which a connection takes no further request (`keepalive_time`), and for which an
            old worker may finish its streams after a reload (`worker_shutdown_timeout`).
    """

    body_mib: int
    idle: int
    total: int


class AccessPlan(Value):
    """Who reaches the fleet, and how. Networks are CIDR text, or `operator` (stacks.config.OPERATOR).

    Attributes:
        host: Machine that the gateway runs on.
        port: TCP port of the gateway.
        tls: Where its certificate comes from.
        certificate: Name of the Pulumi configuration value with the given certificate; None without one.
        certificate_key: Name of the Pulumi secret with its private key; None likewise.
        name: Name by which clients reach it; None: by its address.
        sources: Who may reach it; empty: private, through SSH only.
        metrics: Who may read /metrics.
        operators: Who may reach SSH on every machine; empty: not said, so that `up` refuses.
        keys: The API keys, the one that Rackstack itself uses first.
        routes: What it lets through; /metrics is apart.
        limits: What it bounds.
    """

    host: str
    port: int
    tls: Literal["own-ca", "given", "off"]
    certificate: str | None
    certificate_key: str | None
    name: str | None
    sources: tuple[str, ...]
    metrics: tuple[str, ...]
    operators: tuple[str, ...]
    keys: tuple[PlannedKey, ...]
    routes: tuple[Route, ...]
    limits: Limits

    @property
    def private(self) -> bool:
        """Return whether only SSH leads to the gateway."""
        return not self.sources

    def url(self, address: str) -> str:
        """Return the base URL of the API, ending in /v1.

        Args:
            address: Of the machine that the gateway runs on; a preview passes its name.
        """
        scheme = "http" if self.tls == "off" else "https"
        reached = "localhost" if self.private else self.name or address
        return f"{scheme}://{reached}:{self.port}/v1"

"""What one call may use of the engine: its log, the wish to finish, its deadline."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

if TYPE_CHECKING:
    import threading

    from components.plugin.redaction import Redactor

MOST_LINES: Final = 5000
SEVERITIES = {"debug": engine_pb2.DEBUG, "info": engine_pb2.INFO, "warning": engine_pb2.WARNING}


class EngineLog:
    """The engine's log. Every line goes through the redactor."""

    def __init__(self, address: str, redactor: Redactor) -> None:
        self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))
        self._redactor = redactor

    def say(self, message: str, urn: str, severity: str = "info", *, ephemeral: bool = False) -> None:
        """Show a line under a resource; an engine that is gone hears nothing, and that is no error."""
        line = engine_pb2.LogRequest(
            severity=SEVERITIES[severity], message=self._redactor.clean(message), urn=urn, ephemeral=ephemeral
        )
        try:
            self._stub.Log(line, timeout=5)
        except grpc.RpcError:
            return


@dataclass(frozen=True)
class EngineRun:
    """One call of a kind; fulfils `components.plugin.kind.Run`.

    Attributes:
        told: The last lines that were shown while it ran.
    """

    name: str
    stop: threading.Event
    deadline: float | None
    urn: str
    log: EngineLog
    told: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_LINES))

    def progress(self, message: str) -> None:
        """Show a line while the operation runs; it is not kept."""
        self.told.append(message)
        self.log.say(message, self.urn, ephemeral=True)

    def note(self, message: str) -> None:
        """Show a line that stays under the resource."""
        self.told.append(message)
        self.log.say(message, self.urn)

    def warn(self, message: str) -> None:
        """Show a warning that stays under the resource."""
        self.told.append(message)
        self.log.say(message, self.urn, "warning")

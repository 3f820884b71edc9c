"""The servicer that the engine calls: protobuf in, protobuf out, one sentence on every failure."""

from __future__ import annotations

import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import (
    ResourceProviderServicer,
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
    status_pb2,
)

from components.plugin import operations, wire
from components.plugin.engine import EngineLog, EngineRun
from components.plugin.redaction import Redactor
from components.plugin.registry import kind_of
from stacks.errors import RackstackError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from google.protobuf import struct_pb2

VERSION: Final = "0.1.0"
CALLS_AT_ONCE: Final = 256
"""Threads: the engine decides with `--parallel` how many resources are worked on, not this pool."""
LARGEST_MESSAGE: Final = 400 << 20
"""Bytes; the engine's own limit."""


class Servicer(ResourceProviderServicer):
    """Answers the engine; blocking calls run in the server's threads."""

    def __init__(self, engine: str, stop: threading.Event) -> None:
        self._redactor = Redactor()
        self._log = EngineLog(engine, self._redactor)
        self._stop = stop

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        """Say which version this is."""
        del request, context
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetSchema(self, request: Any, context: Any) -> Any:
        """Answer that there is no schema: nobody generates an SDK from this plugin."""
        del request, context
        return provider_pb2.GetSchemaResponse(schema=f'{{"name":"rack","version":"{VERSION}"}}')

    def CheckConfig(self, request: Any, context: Any) -> Any:
        """Accept the provider's configuration, which is empty."""
        del context
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        """Answer that an empty configuration never differs."""
        del request, context
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        """Ask for marked secrets and for previews."""
        del request, context
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=False, acceptOutputs=False
        )

    def Check(self, request: Any, context: Any) -> Any:
        """Validate inputs, and add the empty drift."""

        def work() -> Any:
            news = self._load(request.news)
            faults = operations.check(kind_of(_token(request.urn)), news)
            failures = [provider_pb2.CheckFailure(reason=self._redactor.clean(fault)) for fault in faults]
            return provider_pb2.CheckResponse(
                inputs=wire.dump({**news, operations.DRIFT: {}}), failures=failures
            )

        return self._answer(request.urn, context, work)

    def Diff(self, request: Any, context: Any) -> Any:
        """Say which inputs differ and whether that needs a new thing."""

        def work() -> Any:
            olds, news = self._load(request.old_inputs), self._load(request.news)
            return _diff_response(operations.diff(kind_of(_token(request.urn)), olds, news))

        return self._answer(request.urn, context, work)

    def Create(self, request: Any, context: Any) -> Any:
        """Ensure a resource, or say what is known of it before."""

        def work() -> Any:
            kind, news = kind_of(_token(request.urn)), self._load(request.properties)
            if request.preview:
                return provider_pb2.CreateResponse(
                    properties=self._dump(operations.foresee_create(kind, news))
                )
            made, values = operations.create(kind, news, self._witness(request))
            return provider_pb2.CreateResponse(id=made, properties=self._dump(values))

        return self._answer(request.urn, context, work)

    def Read(self, request: Any, context: Any) -> Any:
        """Look at a resource; what differs comes back as input drift."""

        def work() -> Any:
            inputs, olds = self._load(request.inputs), self._load(request.properties)
            seen = operations.read(kind_of(_token(request.urn)), inputs, olds, self._run(request))
            if seen is None:
                return provider_pb2.ReadResponse(id="")
            found, values = seen
            return provider_pb2.ReadResponse(
                id=request.id, inputs=self._dump(found), properties=self._dump(values)
            )

        return self._answer(request.urn, context, work)

    def Update(self, request: Any, context: Any) -> Any:
        """Bring a resource to new inputs, or say what may change."""

        def work() -> Any:
            kind, news = kind_of(_token(request.urn)), self._load(request.news)
            olds, old_inputs = self._load(request.olds), self._load(request.old_inputs)
            if request.preview:
                return provider_pb2.UpdateResponse(
                    properties=self._dump(operations.foresee_update(kind, olds, news))
                )
            before = (old_inputs, olds)
            values = operations.update(kind, request.id, before, news, self._witness(request))
            return provider_pb2.UpdateResponse(properties=self._dump(values))

        return self._answer(request.urn, context, work)

    def Delete(self, request: Any, context: Any) -> Any:
        """Remove a resource if it still is the one in state."""

        def work() -> Any:
            inputs, olds = self._load(request.old_inputs), self._load(request.properties)
            operations.delete(kind_of(_token(request.urn)), inputs, olds, self._run(request))
            return empty_pb2.Empty()

        return self._answer(request.urn, context, work)

    def Cancel(self, request: Any, context: Any) -> Any:
        """Ask running calls to finish; it comes at the end of every ordinary command too."""
        del request, context
        self._stop.set()
        return empty_pb2.Empty()

    def _load(self, struct: struct_pb2.Struct) -> dict[str, Any]:
        values = wire.load(struct)
        self._redactor.learn(wire.secrets_in(values))
        return values

    def _dump(self, values: dict[str, Any]) -> struct_pb2.Struct:
        self._redactor.learn(wire.secrets_in(values))
        return wire.dump(values)

    def _run(self, request: Any) -> EngineRun:
        seconds = getattr(request, "timeout", 0.0)
        name = request.urn.rsplit("::", 1)[-1]
        return EngineRun(name, self._stop, seconds or None, request.urn, self._log)

    def _witness(self, request: Any) -> operations.Witness:
        run = self._run(request)
        return operations.Witness(run, run.told, self._redactor.scrub)

    def _answer(self, urn: str, context: grpc.ServicerContext, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except operations.Unwell as unwell:
            self._abort_unwell(context, unwell)
        except RackstackError as refused:
            context.abort(grpc.StatusCode.UNKNOWN, self._redactor.clean(str(refused)))
        except Exception as bug:  # noqa: BLE001 -- whatever it is, the person gets one sentence
            self._log.say(traceback.format_exc(), urn, "debug")
            sentence = (
                f"the plugin rack failed with {type(bug).__name__}: {bug}; this is a fault of Rackstack: "
                "`--debug` shows where"
            )
            context.abort(grpc.StatusCode.UNKNOWN, self._redactor.clean(" ".join(sentence.split())))

    def _abort_unwell(self, context: grpc.ServicerContext, unwell: operations.Unwell) -> None:
        # One sentence: the engine shows several as a list of errors, and only its head while it runs.
        sentence = self._redactor.clean(str(unwell))
        detail = provider_pb2.ErrorResourceInitFailed(
            id=unwell.identifier, properties=self._dump(unwell.properties), reasons=[sentence]
        )
        status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=sentence)
        status.details.add().Pack(detail)
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNKNOWN, status.message)


def start(engine: str, stop: threading.Event) -> tuple[grpc.Server, int]:
    """Serve on loopback; return the server and the port that the engine is told."""
    server = grpc.server(
        ThreadPoolExecutor(CALLS_AT_ONCE), options=[("grpc.max_receive_message_length", LARGEST_MESSAGE)]
    )
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(engine, stop), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def _token(urn: str) -> str:
    """Return the type token in a URN: `urn:pulumi:stack::project::parent$token::name`."""
    return urn.split("::")[2].rsplit("$", 1)[-1]


def _diff_response(change: operations.Change) -> Any:
    if not change.changed:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)
    one = provider_pb2.PropertyDiff
    detailed = {
        key: one(kind=one.UPDATE_REPLACE if key in change.replacing else one.UPDATE, inputDiff=True)
        for key in change.changed
    }
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME,
        diffs=list(change.changed),
        replaces=list(change.replacing),
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )

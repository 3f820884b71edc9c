"""The least Python plugin: it makes nothing, and says so at once."""

# ruff: noqa: N802, ARG002 -- names and arguments are those of the engine's protocol
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import (
    ResourceProviderServicer,
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
)


class Floor(ResourceProviderServicer):
    """Answers every call with what it was asked."""

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        """Say which version this is."""
        return plugin_pb2.PluginInfo(version="0.1.0")

    def CheckConfig(self, request: Any, context: Any) -> Any:
        """Accept the configuration."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        """Find no difference in the configuration."""
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        """Take part in previews."""
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Check(self, request: Any, context: Any) -> Any:
        """Accept the inputs."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:
        """Find no difference."""
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Create(self, request: Any, context: Any) -> Any:
        """Make nothing."""
        return provider_pb2.CreateResponse(id="nothing", properties=request.properties)

    def Read(self, request: Any, context: Any) -> Any:
        """Find nothing changed."""
        return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Delete(self, request: Any, context: Any) -> Any:
        """Delete nothing."""
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        """Finish, which is no work."""
        return empty_pb2.Empty()


def main() -> None:
    """Serve until the engine says SIGINT."""
    leave = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: leave.set())
    server = grpc.server(ThreadPoolExecutor(4))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Floor(), server)
    sys.stdout.write(f"{server.add_insecure_port('127.0.0.1:0')}\n")
    sys.stdout.flush()
    server.start()
    leave.wait()
    os._exit(0)


main()

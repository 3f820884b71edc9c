"""A fleet that serves, as its state and outputs tell of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.hosts.record import HostRecord
from tools.bench.playbooks import Applied, applied, in_clear
from tools.drive.session import Session


@dataclass(frozen=True)
class Served:
    """What the benchmark has to know of it.

    Attributes:
        hosts: All hosts; the first has the gateway and serves the API.
        playbooks: What each playbook was run with, in order.
        endpoint: Base URL of the gateway.
        model: Served name.
        authority: PEM of the authority that the client trusts; empty without TLS.
        keys: Name → API key.
        engine_key: What the gateway shows to the engine.
    """

    hosts: Sequence[HostRecord]
    playbooks: Sequence[Applied]
    endpoint: str
    model: str
    authority: str
    keys: Mapping[str, str]
    engine_key: str


def served(session: Session) -> Served:
    """Read the stack's outputs and its state, secrets shown."""
    outputs = session.outputs("--show-secrets")
    state = json.loads(session.ask("stack", "export", "--show-secrets", "--stack", session.name))
    playbooks = applied(state)
    return Served(
        hosts=playbooks[0][0].hosts,
        playbooks=playbooks,
        endpoint=outputs["endpoint"],
        model=outputs["model"],
        authority=outputs["caCertificate"],
        keys=outputs["apiKeys"],
        engine_key=_engine_key(state),
    )


def _engine_key(state: Mapping[str, Any]) -> str:
    [key] = [
        in_clear(each["outputs"])["key"]
        for each in state["deployment"]["resources"]
        if each["urn"].endswith("::engine-key")
    ]
    return str(key)

"""The gate from end to end: an endpoint on loopback, and hosts that a function plays."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from components.readiness import gate, ranks, watch
from components.readiness.completion import Completion, CompletionInputs, CompletionOutputs
from stacks.errors import Incomplete, Refusal, Unreachable
from tests.factories.hosts import host
from tests.factories.run import FakeRun
from tests.factories.units import shown
from tests.fakes.engine import FakeEngine, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from components.hosts.record import HostRecord

KEY = "rk-right"
DEAD = shown(
    ActiveState="failed", SubState="failed", Result="exit-code", ExecMainCode="1", ExecMainStatus="1"
)
BEFORE = CompletionOutputs(incarnation="1", seconds=1.0, answer="hello")


class Hosts:
    """Plays the hosts of a fleet: what each shows of its rank, and what it was told."""

    def __init__(self) -> None:
        self.shown: dict[str, str | None] = {"lab-0": shown(), "lab-1": shown()}
        self.journals: dict[str, str] = {}
        self.stopped: set[str] = set()

    def tell(self, told: HostRecord, command: str, seconds: float) -> str:
        """Answer a command as the host would."""
        del seconds
        state = self.shown[told.name]
        if state is None:
            raise Unreachable(f"host {told.name} did not answer")
        if command.startswith("systemctl stop"):
            self.stopped.add(told.name)
            return ""
        if command.startswith("systemctl show"):
            return f"{state}\x1e1.0 {told.name} vllm[1]: Loading"
        return self.journals.get(told.name, "")


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    fleet = Hosts()
    monkeypatch.setattr(ranks, "over_ssh", fleet.tell)
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(gate, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(gate, "SETTLE_SECONDS", 0.02)
    return fleet


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    with serving(FakeEngine()) as ready:
        yield ready


def _traceback(name: str, when: float, exception: str) -> str:
    lines = ("Traceback (most recent call last):", "  File a", exception)
    return "\n".join(f"{when:.6f} {name} vllm[1]: {line}" for line in lines)


def _inputs(endpoint: str, **changed: Any) -> CompletionInputs:
    fields: dict[str, Any] = {
        "fleet": "lab-123456",
        "endpoint": endpoint,
        "authority": "",
        "model": "tiny",
        "api_key": SecretStr(KEY),
        "hosts": [host("lab-0"), host("lab-1")],
        "served": ["1", "1"],
        "deadline": 5.0,
    }
    return CompletionInputs(**(fields | changed))


def test_ready_is_a_completion(hosts: Hosts, engine: FakeEngine) -> None:
    engine.held.set()
    run = FakeRun()
    made = Completion().create(_inputs(engine.endpoint), run)
    assert made.answer == "hello"
    assert not hosts.stopped


def test_an_engine_that_is_not_there_yet_is_waited_for(hosts: Hosts) -> None:
    run = FakeRun()
    with pytest.raises(
        Refusal,
        match=r"no completion within 0 s \(nothing listens at http:\S+\): rank 0 on lab-0 is running: Load",
    ):
        Completion().create(_inputs("http://127.0.0.1:1/v1", deadline=0.3), run)
    assert "0 s of 0 s: rank 0 on lab-0 is running: Loading; rank 1 on lab-1 is running: Loading" in run.said
    assert hosts.stopped == {"lab-0", "lab-1"}


def test_a_rank_that_dies_ends_the_wait_and_all_others(hosts: Hosts, engine: FakeEngine) -> None:
    hosts.shown["lab-1"] = DEAD
    hosts.journals["lab-1"] = _traceback("lab-1", 1.0, "OSError: no")
    with pytest.raises(Refusal) as refused:
        Completion().create(_inputs(engine.endpoint), FakeRun())
    assert str(refused.value) == (
        "rank 1 on lab-1 failed first: OSError: no; "
        "all ranks were stopped, mend this and run `pulumi up` again"
    )
    assert hosts.stopped == {"lab-0", "lab-1"}


def test_a_failing_completion_ends_the_wait(hosts: Hosts, engine: FakeEngine) -> None:
    engine.status, engine.body = 500, {"error": {"message": "it broke"}}
    engine.held.set()
    with pytest.raises(
        Refusal, match=r"with 500 \(it broke\): no rank has an error in its journal; all ranks"
    ):
        Completion().create(_inputs(engine.endpoint), FakeRun())
    assert hosts.stopped


def test_a_rank_that_raises_while_its_peers_wait_ends_the_wait(
    hosts: Hosts, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "SILENCE_SECONDS", 0.1)
    hosts.journals["lab-1"] = _traceback("lab-1", time.time(), "OSError: now")
    hosts.journals["lab-0"] = _traceback("lab-0", time.time() - 60, "ImportError: long before it was asked")
    with pytest.raises(
        Refusal, match="has not answered a chat completion for 0 s: rank 1 on lab-1 failed first: OSE"
    ):
        Completion().create(_inputs(engine.endpoint), FakeRun())


def test_hosts_that_could_not_be_stopped_are_named(
    hosts: Hosts, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("components.readiness.verdict.PATIENCE", 0.1)
    hosts.shown["lab-1"] = None
    with pytest.raises(
        Refusal, match=r"rank 1 on lab-1 was lost: .*; all ranks but those on lab-1 were stopped"
    ):
        Completion().create(_inputs(engine.endpoint), FakeRun())


def test_a_gateway_that_does_not_know_the_key_ends_the_wait_and_no_rank(
    hosts: Hosts, engine: FakeEngine
) -> None:
    engine.held.set()
    engine.key = "rk-other"
    run = FakeRun()
    with pytest.raises(Refusal) as refused:
        Completion().create(_inputs(engine.endpoint), run)
    assert str(refused.value) == (
        f"the gateway at {engine.endpoint} does not know the fleet's API key (401); "
        "all ranks go on, mend this and run `pulumi up` again"
    )
    assert not hosts.stopped
    assert KEY not in "\n".join([str(refused.value), *run.said])


def test_an_endpoint_that_cannot_be_trusted_ends_the_wait_and_no_rank(
    hosts: Hosts, engine: FakeEngine
) -> None:
    endpoint = engine.endpoint.replace("http://", "https://")
    with pytest.raises(Refusal, match="speaks no TLS that this machine understands"):
        Completion().create(_inputs(endpoint), FakeRun())
    assert not hosts.stopped


def test_an_interrupt_is_heard_at_once_and_stops_nothing(hosts: Hosts, engine: FakeEngine) -> None:
    run = FakeRun()
    threading.Timer(0.2, run.stop.set).start()
    began = time.monotonic()
    with pytest.raises(Refusal, match="interrupted"):
        Completion().create(_inputs(engine.endpoint), run)
    assert time.monotonic() - began < 2
    assert not hosts.stopped


def test_an_update_proves_it_again_under_the_same_incarnation(hosts: Hosts, engine: FakeEngine) -> None:
    engine.held.set()
    old, new = _inputs(engine.endpoint), _inputs(engine.endpoint, served=["1", "2"])
    assert Completion().update(old, new, BEFORE, FakeRun()).incarnation == "1"
    assert len(engine.asked) == 1
    assert not hosts.stopped


def test_an_update_that_fails_is_kept_as_unwell(hosts: Hosts, engine: FakeEngine) -> None:
    hosts.shown["lab-0"] = DEAD
    inputs = _inputs(engine.endpoint)
    with pytest.raises(Incomplete, match="rank 0 on lab-0 failed first") as unwell:
        Completion().update(inputs, inputs, BEFORE, FakeRun())
    assert unwell.value.outputs == BEFORE


def test_a_look_asks_once(engine: FakeEngine) -> None:
    engine.held.set()
    seen = Completion().read(_inputs(engine.endpoint), BEFORE, FakeRun())
    assert (seen.outputs, seen.drift) == (BEFORE, {})
    assert len(engine.asked) == 1


def test_a_look_at_a_dead_endpoint_is_drift() -> None:
    seen = Completion().read(_inputs("http://127.0.0.1:1/v1"), BEFORE, FakeRun())
    assert seen.drift == {"endpoint": {"completion": "nothing listens at http://127.0.0.1:1/v1"}}


def test_a_look_at_what_cannot_be_trusted_is_drift(engine: FakeEngine) -> None:
    endpoint = engine.endpoint.replace("http://", "https://")
    seen = Completion().read(_inputs(endpoint), BEFORE, FakeRun())
    assert f"{endpoint} speaks no TLS" in seen.drift["endpoint"]["completion"]

"""The certificate as a resource: made once, made anew in time, by the same authority."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from components.gateway import certificate, certificates
from components.gateway.certificate import Certificate, CertificateInputs
from stacks.errors import Incomplete, Refusal
from tests.factories.run import FakeRun

if TYPE_CHECKING:
    from components.gateway.certificates import Pair

NOW = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)


class Clock:
    """What the kind takes for the time."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> dt.datetime:
        """Return it."""
        return self.now

    def pass_days(self, days: int) -> None:
        """Let time go by."""
        self.now += dt.timedelta(days=days)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(certificate, "_now", made)
    return made


@pytest.fixture(scope="module")
def foreign() -> Pair:
    return certificates.make_leaf(certificates.make_authority("site", NOW), ["k3.example.org"], NOW)


def inputs(**changed: Any) -> CertificateInputs:
    asked: dict[str, Any] = {
        "fleet": "k3-123456",
        "names": ["k3.example.org"],
        "given_certificate": "",
        "given_key": SecretStr(""),
    }
    return CertificateInputs(**(asked | changed))


def given(pair: Pair, **changed: Any) -> CertificateInputs:
    return inputs(given_certificate=pair.certificate, given_key=SecretStr(pair.key), **changed)


@pytest.mark.usefixtures("clock")
def test_a_certificate_is_for_the_names_and_for_loopback() -> None:
    made = Certificate().create(inputs(), FakeRun())
    assert certificates.covered(made.certificate) == ["k3.example.org", "localhost", "127.0.0.1"]
    assert (
        certificates.faults_of_given(
            made.certificate + made.authority, made.key.get_secret_value(), ["localhost"]
        )
        == []
    )
    assert made.until == "2028-01-02"
    assert Certificate().read(inputs(), made, FakeRun()).drift == {}
    assert "PRIVATE" not in repr(made)


@pytest.mark.usefixtures("clock")
def test_an_update_that_needs_nothing_keeps_it() -> None:
    made = Certificate().create(inputs(), FakeRun())
    assert Certificate().update(inputs(), inputs(), made, FakeRun()) == made


def test_in_time_a_new_one_is_made_by_the_same_authority(clock: Clock) -> None:
    made = Certificate().create(inputs(), FakeRun())
    clock.pass_days(368)
    drift = Certificate().read(inputs(), made, FakeRun()).drift
    assert "ends on 2028-01-02, which is less than 30 days from now" in drift["certificate"]["gateway"]
    renewed = Certificate().update(inputs(), inputs(), made, FakeRun())
    assert (renewed.authority, renewed.incarnation) == (made.authority, made.incarnation)
    assert renewed.until == "2029-01-04"
    assert renewed.key != made.key
    assert Certificate().read(inputs(), renewed, FakeRun()).drift == {}


@pytest.mark.usefixtures("clock")
def test_other_names_need_another_certificate() -> None:
    made = Certificate().create(inputs(), FakeRun())
    moved = inputs(names=["10.20.0.4"])
    drift = Certificate().read(moved, made, FakeRun()).drift
    assert "not for 10.20.0.4, localhost, 127.0.0.1" in drift["certificate"]["gateway"]
    renewed = Certificate().update(inputs(), moved, made, FakeRun())
    assert renewed.authority == made.authority
    assert Certificate().read(moved, renewed, FakeRun()).drift == {}


def test_an_authority_that_ends_is_made_anew_too(clock: Clock) -> None:
    made = Certificate().create(inputs(), FakeRun())
    clock.pass_days(3640)
    renewed = Certificate().update(inputs(), inputs(), made, FakeRun())
    assert renewed.authority != made.authority
    assert Certificate().read(inputs(), renewed, FakeRun()).drift == {}


@pytest.mark.usefixtures("clock")
def test_a_given_one_is_shown_as_it_is(foreign: Pair) -> None:
    made = Certificate().create(given(foreign), FakeRun())
    assert (made.certificate, made.key.get_secret_value()) == (foreign.certificate, foreign.key)
    assert (made.authority, made.authority_key.get_secret_value(), made.until) == ("", "", "2028-01-02")
    assert Certificate().read(given(foreign), made, FakeRun()).drift == {}


@pytest.mark.usefixtures("clock")
def test_one_may_change_to_a_given_one_and_back(foreign: Pair) -> None:
    own = Certificate().create(inputs(), FakeRun())
    changed = Certificate().update(inputs(), given(foreign), own, FakeRun())
    assert changed.certificate == foreign.certificate
    back = Certificate().update(given(foreign), inputs(), changed, FakeRun())
    assert back.authority.startswith("-----BEGIN CERTIFICATE-----")
    assert Certificate().read(inputs(), back, FakeRun()).drift == {}


def test_a_given_one_that_ends_soon_is_warned_of_and_one_that_ended_refused(
    clock: Clock, foreign: Pair
) -> None:
    made = Certificate().create(given(foreign), FakeRun())
    clock.pass_days(390)
    run = FakeRun()
    assert Certificate().read(given(foreign), made, run).drift == {}
    (warning,) = run.said
    assert warning.startswith("access: the given certificate ends on 2028-01-02, which is less than 30 days")
    clock.pass_days(10)
    run = FakeRun()
    drift = Certificate().read(given(foreign), made, run).drift
    assert (
        "the given certificate ended on 2028-01-02, and no client accepts it"
        in drift["certificate"]["gateway"]
    )
    assert run.said == []
    with pytest.raises(Incomplete, match="ended on 2028-01-02"):
        Certificate().update(given(foreign), given(foreign), made, FakeRun())
    with pytest.raises(Refusal, match="ended on 2028-01-02"):
        Certificate().create(given(foreign), FakeRun())


def test_faults_of_a_given_one_are_told_before_anything_is_made(foreign: Pair) -> None:
    assert list(Certificate().faults(inputs())) == []
    assert list(Certificate().faults(given(foreign))) == []
    (fault,) = Certificate().faults(given(foreign, names=["other.example.org"]))
    assert "clients reach the gateway as other.example.org" in fault
    assert Certificate().faults(inputs(given_key=SecretStr(foreign.key)))
    assert Certificate().faults(inputs(given_certificate=foreign.certificate))

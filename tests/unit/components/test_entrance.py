"""What a stack's configuration has to hold for its keys and its certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pytest

from components import entrance
from stacks.errors import ConfigError
from tests.factories import stacks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stacks.planning.reach import AccessPlan

GOOD = "rk-0123456789abcdef"
WANTED: Mapping[str, Any] = {
    "access.tls": {"certificate": "certificate", "key": "certificateKey"},
    "access.name": "k3.example.org",
    "access.keys": [{"name": "default"}, {"name": "own", "secret": "ownKey"}],
}


@pytest.fixture
def access() -> AccessPlan:
    return stacks.planned("lab", WANTED).access


@pytest.fixture(autouse=True)
def _afterwards() -> Iterator[None]:
    yield
    configure({})


def configure(values: Mapping[str, str], *secrets: str) -> None:
    project = pulumi.get_project()
    named = {f"{project}:{name}": value for name, value in values.items()}
    pulumi.runtime.set_all_config(named, [f"{project}:{name}" for name in secrets])


def test_everything_that_is_missing_is_told_at_once(access: AccessPlan) -> None:
    configure({})
    with pytest.raises(ConfigError) as refused:
        entrance.given(access)
    assert refused.value.faults == (
        "access.keys.1.secret: ownKey: there is no such secret; run `pulumi config set --secret ownKey`",
        (
            "access.tls.certificate: certificate: there is no such value; run `pulumi config set certificate "
            "<FILE` with the certificate and its chain"
        ),
        (
            "access.tls.key: certificateKey: there is no such secret; run `pulumi config set --secret "
            "certificateKey <FILE`"
        ),
    )


def test_a_secret_that_stands_in_the_file_in_clear_is_refused(access: AccessPlan) -> None:
    configure({"ownKey": GOOD, "certificate": "PEM", "certificateKey": "PEM"}, "certificateKey")
    with pytest.raises(ConfigError) as refused:
        entrance.given(access)
    assert refused.value.faults == (
        (
            "access.keys.1.secret: ownKey: it stands in the stack file in clear; change it, and run "
            "`pulumi config set --secret ownKey`"
        ),
    )


def test_a_key_that_no_client_could_send_is_refused_without_showing_it(access: AccessPlan) -> None:
    values = {"ownKey": f"{GOOD}\n", "certificate": "PEM", "certificateKey": "PEM"}
    configure(values, "ownKey", "certificateKey")
    with pytest.raises(ConfigError, match=r"key own holds a character that no bearer token") as refused:
        entrance.given(access)
    assert GOOD not in str(refused.value)


def test_what_is_given_is_taken_and_the_rest_is_left_to_be_made(access: AccessPlan) -> None:
    configure({"ownKey": GOOD, "certificate": "PEM", "certificateKey": "KEY"}, "ownKey", "certificateKey")
    given = entrance.given(access)
    assert set(given.keys) == {"own"}
    assert given.certificate == "PEM"


def test_a_stack_that_names_nothing_needs_no_configuration() -> None:
    configure({})
    assert entrance.given(stacks.planned("lab").access).keys == {}

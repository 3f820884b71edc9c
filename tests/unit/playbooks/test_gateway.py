"""What the gateway's program concludes from what it sees on its host."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.playbooks.files import program

gateway = program("roles/gateway/files/gateway.py")
ACTIVE = {"ActiveState": "active", "InvocationID": "one", "MainPID": "7"}
FILES = {"unit": [1, 2, 3], "files": {"keys.conf": [4, 5, 6]}}
KEYS = """map $http_authorization $gateway_key {
    "~^Bearer rk-a[.]b[+]c/=~0123456789$" default;
}
map $host $gateway_engine_authorization { default "Bearer rk-engine.0123456789"; }
"""


@pytest.fixture
def want(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (tmp_path / "keys.conf").write_text(KEYS)
    (tmp_path / "nginx").touch()
    monkeypatch.setattr(gateway, "program", lambda _: str(tmp_path / "nginx"))
    return {"folder": str(tmp_path), "nginx": str(tmp_path / "nginx")}


def test_a_gateway_that_read_these_files_is_left_alone(want: dict[str, Any]) -> None:
    assert gateway.needed(want, ACTIVE, {"invocation": "one", **FILES}, FILES) == ""


@pytest.mark.parametrize("state", ["inactive", "failed", "activating"])
def test_one_that_is_not_active_is_started(want: dict[str, Any], state: str) -> None:
    asis = {"invocation": "one", **FILES}
    assert gateway.needed(want, ACTIVE | {"ActiveState": state}, asis, FILES) == "restart"


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"invocation": "another", **FILES},
        {"invocation": "one", **FILES, "files": {"keys.conf": [4, 5, 7]}},
        {"invocation": "one", **FILES, "files": {}},
    ],
    ids=["unknown", "started by somebody else", "another file", "a file more"],
)
def test_files_that_it_may_not_have_read_are_read_again(want: dict[str, Any], record: dict[str, Any]) -> None:
    assert gateway.needed(want, ACTIVE, record, FILES) == "reload"


def test_another_unit_and_another_program_need_a_new_start(
    want: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"invocation": "one", **FILES}
    assert gateway.needed(want, ACTIVE, record | {"unit": [1, 2, 4]}, FILES) == "restart"
    monkeypatch.setattr(gateway, "program", lambda _: f"{want['nginx']} (deleted)")
    assert gateway.needed(want, ACTIVE, record, FILES) == "restart"


def test_a_file_that_was_edited_and_put_back_is_another_version(tmp_path: Path) -> None:
    file = tmp_path / "keys.conf"
    file.write_text(KEYS)
    first = gateway.version(file)
    (tmp_path / "draft").write_text(KEYS)
    (tmp_path / "draft").rename(file)
    assert gateway.version(file) != first


def test_what_nginx_says_is_told_without_its_prefix_and_without_keys(want: dict[str, Any]) -> None:
    text = (
        "nginx: [warn] something\n"
        'nginx: [emerg] no "Bearer rk-a[.]b[+]c/=~0123456789" nor rk-a.b+c/=~0123456789 nor '
        "rk-engine.0123456789 in keys.conf:3\n"
        "nginx: configuration file test failed\n"
    )
    assert gateway.last_words(want, text) == 'no "Bearer [secret]" nor [secret] nor [secret] in keys.conf:3'
    assert gateway.last_words(want, "Failed to connect to bus\n") == "Failed to connect to bus"
    assert gateway.last_words(want, "") == ""


def test_the_engine_s_key_is_the_last_one(want: dict[str, Any]) -> None:
    assert gateway.bearers(want) == ["rk-a[.]b[+]c/=~0123456789", "rk-engine.0123456789"]


def answers(monkeypatch: pytest.MonkeyPatch, without: tuple[int, str], with_key: tuple[int, str]) -> None:
    def ask(_: Any, key: str | None) -> tuple[int, str]:
        assert key in {None, "rk-a.b+c/=~0123456789"}
        return with_key if key else without

    monkeypatch.setattr(gateway, "ask", ask)
    monkeypatch.setattr(gateway, "shown_certificate", lambda *_: "shown")


@pytest.mark.parametrize(
    "through", [(200, ""), (502, "engine-not-listening"), (504, "engine-silent"), (0, "")]
)
def test_a_gateway_that_asks_for_its_key_and_takes_it_is_well(
    want: dict[str, Any], monkeypatch: pytest.MonkeyPatch, through: tuple[int, str]
) -> None:
    answers(monkeypatch, (401, "no-key"), through)
    assert list(gateway.faults(want | {"listen": ["127.0.0.1"], "port": 8443}, "shown")) == []


def test_everything_that_a_client_would_find_wrong_is_named(
    want: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, (200, ""), (404, "not-allowed"))
    assert list(gateway.faults(want | {"listen": ["127.0.0.1"], "port": 8443}, "planned")) == [
        "at 127.0.0.1 port 8443 it shows another certificate than the planned one",
        "a request without a key was answered with 200",
        "a request with a key was answered with 404 not-allowed",
    ]
